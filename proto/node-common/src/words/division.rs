//! Divisions of MLPerf Inference that a run can be made for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// Division that a run is made for.
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
)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
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

impl Division {
    /// Returns the name on the command line and in `result.json`.
    pub fn word(self) -> &'static str {
        self.into()
    }

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
