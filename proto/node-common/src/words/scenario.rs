//! Scenarios of LoadGen (rules, section 3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// Pattern in which LoadGen issues queries.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    Display,
    IntoStaticStr,
)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
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

impl Scenario {
    /// All scenarios.
    pub const ALL: [Self; 4] = [Self::Offline, Self::Server, Self::SingleStream, Self::MultiStream];

    /// Returns the name on the command line and in `result.json`.
    pub fn word(self) -> &'static str {
        self.into()
    }

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
