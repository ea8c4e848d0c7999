//! Scenarios, modes, divisions and transports; parts of data sets; prefix caching and speculative
//! decoding of engines.

use std::{fmt, num::NonZero};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

word! {
    /// Pattern in which LoadGen issues queries.
    pub enum Scenario {
        /// All samples at the start, in a single query
        Offline,
        /// Queries of one sample, by a Poisson distribution
        Server,
        /// A query of one sample as soon as the last is answered
        SingleStream,
        /// A query of eight samples as soon as the last is answered
        MultiStream,
    }
}

impl Scenario {
    /// All scenarios.
    pub const ALL: [Self; 4] = [Self::Offline, Self::Server, Self::SingleStream, Self::MultiStream];

    /// Returns the name in LoadGen's settings and logs and in a submission's folders.
    pub const fn official_name(self) -> &'static str {
        match self {
            Self::Offline => "Offline",
            Self::Server => "Server",
            Self::SingleStream => "SingleStream",
            Self::MultiStream => "MultiStream",
        }
    }

    /// Returns the scenario with an official name. Older submissions have it in lower case.
    pub fn of_official_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.official_name().eq_ignore_ascii_case(name))
    }
}

word! {
    /// Use of a scenario by LoadGen.
    #[derive(Default, strum::VariantArray)]
    pub enum Mode {
        /// The scenario's traffic, measured
        #[default]
        Performance,
        /// Every sample once; all responses are logged
        Accuracy,
        /// Accuracy, then performance
        Submission,
        /// Search for the highest rate that meets the latency bound (server only)
        FindPeak,
    }
}

impl Mode {
    /// Returns the name in LoadGen's settings and logs.
    pub const fn official_name(self) -> &'static str {
        match self {
            Self::Performance => "PerformanceOnly",
            Self::Accuracy => "AccuracyOnly",
            Self::Submission => "SubmissionRun",
            Self::FindPeak => "FindPeakPerformance",
        }
    }

    /// Returns the mode with an official name.
    pub fn of_official_name(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|mode| mode.official_name() == name)
    }

    /// Returns the part of a data set that a run in this mode uses; `None` for a run that would
    /// need two.
    pub const fn part(self) -> Option<PartName> {
        match self {
            Self::Performance | Self::FindPeak => Some(PartName::Performance),
            Self::Accuracy => Some(PartName::Accuracy),
            Self::Submission => None,
        }
    }
}

word! {
    /// Name of a part of a data set, whose runs use different samples.
    pub enum PartName {
        /// Samples of performance runs
        Performance,
        /// Samples of accuracy runs
        Accuracy,
        /// Samples of the compliance test TEST07
        #[serde(rename = "TEST07")]
        #[strum(serialize = "TEST07")]
        #[cfg_attr(feature = "clap", value(name = "TEST07"))]
        Test07,
    }
}

/// Part of a data set that a run uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetPart {
    /// Name of the part.
    pub name: PartName,
    /// Maximum number of tokens of an output.
    pub max_output_tokens: NonZero<u32>,
}

word! {
    /// Division that a run is made for.
    #[derive(Default)]
    pub enum Division {
        /// For exploration; the result is not an MLPerf result
        #[default]
        Exploratory,
        /// The Closed division (rules, section 4.1.1), also for several nodes behind a network
        Closed,
        /// The Network division (rules, section 6.2)
        Network,
        /// The Open division (rules, section 6.3)
        Open,
    }
}

impl Division {
    /// Returns the name in documents, which is empty for an exploratory run.
    pub fn title(self) -> &'static str {
        match self {
            Self::Exploratory => "",
            Self::Closed => "Closed",
            Self::Network => "Network",
            Self::Open => "Open",
        }
    }

    /// Returns true if a run for the division must keep rules.
    pub fn has_rules(self) -> bool {
        matches!(self, Self::Closed | Self::Network)
    }
}

word! {
    /// Transport between the LoadGen node and a SUT node.
    #[derive(Default)]
    pub enum Transport {
        /// gRPC: HTTP/2 over TCP
        #[default]
        Grpc,
        /// QUIC: streams over UDP
        Quic,
    }
}

word! {
    /// Reuse of results of earlier prompts by a serving engine.
    pub enum PrefixCaching {
        /// The engine computes every prompt completely.
        Off,
        /// The engine does not report it.
        CannotTell,
        /// The engine reuses results of earlier prompts.
        On,
    }
}

/// Facts that a node detected when it started: the table `found` of its published settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// Prefix caching of the serving engines: the highest value of any engine, where `off` is the
    /// lowest and `on` the highest.
    pub prefix_caching: PrefixCaching,
    /// Maximum tokens of a prompt and its output together: the minimum of all engines; `None` if
    /// they do not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
}

/// Speculative decoding of a model: the table `speculative_decoding` in the model's file. A draft
/// proposes further tokens, which the model accepts or rejects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpeculativeDecoding {
    /// Name of the draft head on Hugging Face.
    pub head: String,
    /// Number of tokens that the head drafts at a time.
    pub steps: u32,
    /// Number of candidates for each drafted token.
    pub top_k: u32,
}

impl fmt::Display for SpeculativeDecoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { head, steps, top_k } = self;
        write!(f, "the head {head}, {steps} steps and a top-k of {top_k}")
    }
}
