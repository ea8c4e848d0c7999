//! The entry of a rule in the registry.

use super::same::{self, Same};
use crate::{
    Rule,
    subject::{AllFindings, Findings, Subject},
};

/// A rule, in the words of docs/RULES.md.
pub(crate) struct RuleEntry {
    pub(super) id: Rule,
    /// The section of the rules that asks for it, or who else does.
    pub(super) section: &'static str,
    pub(super) title: &'static str,
    /// True if the Closed division asks for it; false of a rule whose text stands in section 6.2 alone. N2, N10, N21 and N29 stay: a
    /// section for every division has the targets, the ban on caching (4.1.1), that the figures are LoadGen's (5.1), and ECC (4.1.1).
    pub(crate) in_closed: bool,
    /// True if the Open division asks for it: an unaltered LoadGen with the announced seeds that calls the result VALID, files and
    /// fields that the official checker wants of any submission, and the reason for being there.
    pub(crate) in_open: bool,
    /// The code that keeps it.
    pub(super) kept_in: &'static str,
    /// The facts by which it is judged.
    pub(super) looked_at: &'static str,
    /// The tests that show it.
    pub(super) shown_by: &'static str,
    /// Facts that two places state alike.
    pub(super) same: &'static [Same],
    pub(super) judge: fn(&Subject, &mut Findings),
}

impl RuleEntry {
    /// Judges the rule.
    pub(crate) fn judge(&self, subject: &Subject, found: &mut AllFindings) {
        let mut found = found.of(self.id);
        same::compare(self.same, subject, &mut found);
        (self.judge)(subject, &mut found);
    }
}
