//! The division whose rules judge a subject, and the round whose figures do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Rule, record::Division};

/// Division whose rules apply to a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedDivision {
    /// The Closed division.
    Closed,
    /// The Network division.
    Network,
    /// The Open division.
    Open,
}

impl JudgedDivision {
    /// Returns the division whose folder in a tree has this name.
    pub(crate) fn of_folder(name: &str) -> Self {
        match name {
            "closed" => Self::Closed,
            "open" => Self::Open,
            _ => Self::Network,
        }
    }

    /// Returns true if the division requires the rule. The Open division's waivers depend on the
    /// findings.
    pub(crate) fn requires(self, rule: Rule) -> bool {
        self != Self::Closed || rule.is_in_closed()
    }

    /// Returns the division whose rules judge a run. An exploratory run is judged by the rules of
    /// the Network division, and is not a result.
    pub(crate) fn of_run(division: Division) -> Self {
        match division {
            Division::Closed => Self::Closed,
            Division::Open => Self::Open,
            Division::Network | Division::Exploratory => Self::Network,
        }
    }
}

/// Round that a subject is judged by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgedRound {
    /// Name of the round, such as `v6.0`.
    pub name: String,
    /// Source of the name.
    pub by: RoundSource,
    /// True if the table has the round. Otherwise rules that change from round to round cannot be
    /// judged.
    pub in_table: bool,
}

/// Sources of the round, in order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "kebab-case")]
pub enum RoundSource {
    /// The option `--round`.
    #[strum(serialize = "set by --round")]
    Option,
    /// `round` in the measurements file, which `submission` writes.
    #[strum(serialize = "by its records")]
    Record,
    /// The seeds in most of the logs.
    #[strum(serialize = "by its seeds")]
    Seeds,
    /// The LoadGen that wrote most of the logs.
    #[strum(serialize = "by LoadGen's version")]
    LoadgenVersion,
    /// Layout of the folders, or the first round of the table if there is no log.
    #[strum(serialize = "by its layout")]
    Layout,
}
