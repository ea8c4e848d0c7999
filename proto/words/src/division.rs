//! The divisions of MLPerf Inference that a run can be made for.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// What a run is made for.
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
    ValueEnum,
    Display,
    IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Division {
    /// For exploration; the result is not an MLPerf result
    #[default]
    Exploratory,
    /// The Network division (rules, section 6.2)
    Network,
    /// The Open division (rules, section 6.3)
    Open,
}

impl Division {
    /// The word of the command line and of `result.json`.
    pub fn word(self) -> &'static str {
        self.into()
    }
}
