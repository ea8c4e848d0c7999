//! Rules and findings about them.

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
#[allow(missing_docs, reason = "`Rule::text` describes each rule")]
pub enum Rule {
    N1, N2, N3, N4, N5, N6, N7, N8, N9, N10, N11, N12, N13, N14, N15, N16, N17, N18, N19, N20, N21, N22, N23, N24, N25, N26,
    N27, N28, N29, N30, N31, N32, N33, N34, N35, N36, N37, N38,
}

impl Rule {
    /// Returns all rules, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }
}

/// Outcome of judging a rule.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The rule passes.
    Pass,
    /// The rule cannot be judged; the text names what is missing.
    CannotTell,
    /// The rule is broken.
    Fail,
}

/// Finding about a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Rule that the finding is about.
    pub rule: Rule,
    /// Outcome for the rule.
    pub outcome: Outcome,
    /// File, folder, node or setting that the finding is about; empty if it is about all.
    pub place: String,
    /// Description of the finding, with its remedy.
    pub text: String,
}

impl Finding {
    /// Creates a finding that the rule is broken at `place`. `text` describes the violation and its
    /// remedy.
    pub fn fail(rule: Rule, place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { rule, outcome: Outcome::Fail, place: place.into(), text: text.into() }
    }

    /// Creates a finding that the rule cannot be judged at `place`. `text` names the missing
    /// evidence.
    pub fn cannot_tell(rule: Rule, place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { rule, outcome: Outcome::CannotTell, place: place.into(), text: text.into() }
    }
}
