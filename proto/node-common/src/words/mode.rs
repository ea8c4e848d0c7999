//! LoadGen's modes (rules, section 3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantArray};

/// Use of a scenario by LoadGen.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
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
    VariantArray,
)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
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

impl Mode {
    /// Returns the name on the command line and in `result.json`.
    pub fn word(self) -> &'static str {
        self.into()
    }

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
}
