//! What a check says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text;
use crate::{Grouped, Outcome, Rule};

/// What was found about each rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// What was checked.
    pub subject: String,
    /// At least one finding for each of N1 to N38, in order; for each rule what is broken comes first.
    pub findings: Vec<Grouped>,
    /// Rules that only the Network division asks for, broken in what was made for the Open division: why it is there
    /// (rules, section 6.2). They fail nothing.
    pub waived: Vec<Grouped>,
}

impl Report {
    /// Whether a rule is broken.
    pub fn failed(&self) -> bool {
        self.findings.iter().any(|finding| finding.outcome == Outcome::Fail)
    }

    /// The worst that was found about a rule.
    pub fn outcome(&self, rule: Rule) -> Outcome {
        let of_rule = self.findings.iter().filter(|finding| finding.rule == rule);
        of_rule.map(|finding| finding.outcome).max().unwrap_or(Outcome::CannotTell)
    }

    /// In words: a table by rule, then what is broken and what cannot be told, each with what to do.
    pub fn text(&self) -> String {
        text::of(self)
    }
}
