//! What is found about a rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoEnumIterator as _;

/// A MUST of the Network division, by its number in docs/RULES.md.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
    strum::Display, strum::EnumIter,
)]
#[schemars(with = "String")]
#[rustfmt::skip]
#[allow(missing_docs, reason = "`Rule::text` says what each asks")]
pub enum Rule {
    N1, N2, N3, N4, N5, N6, N7, N8, N9, N10, N11, N12, N13, N14, N15, N16, N17, N18, N19, N20, N21, N22, N23, N24, N25, N26,
    N27, N28, N29, N30, N31, N32, N33, N34, N35, N36, N37, N38,
}

impl Rule {
    /// All of them, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }
}

/// Whether a rule is kept.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is.
    Pass,
    /// It cannot be told; the text says what is missing.
    CannotTell,
    /// It is broken.
    Fail,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Whether it is kept.
    pub outcome: Outcome,
    /// The file, folder, node or setting that it is about; empty when it is about all.
    pub place: String,
    /// What was seen, and what to do about it.
    pub text: String,
}

impl Finding {
    /// The rule is kept.
    pub fn pass(rule: Rule, place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { rule, outcome: Outcome::Pass, place: place.into(), text: text.into() }
    }

    /// The rule is broken.
    pub fn fail(rule: Rule, place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { rule, outcome: Outcome::Fail, place: place.into(), text: text.into() }
    }

    /// It cannot be told.
    pub fn cannot_tell(rule: Rule, place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { rule, outcome: Outcome::CannotTell, place: place.into(), text: text.into() }
    }
}
