//! The entry of a rule in the registry.

use super::agreement::{self, Agreement};
use crate::{
    Rule,
    subject::{AllFindings, Findings, Subject},
};

/// Entry of a rule in the registry, with the texts of its row in the table of all rules.
pub(crate) struct RuleEntry {
    pub(super) id: Rule,
    /// Section of the rules that requires the rule, or the other document that does.
    pub(super) section: &'static str,
    pub(super) title: &'static str,
    /// True if the Closed division requires the rule; false if its text is in section 6.2 alone.
    /// N2, N10, N21 and N29 are true, because sections for every division contain the targets, the
    /// ban on caching (4.1.1), the requirement that the figures are LoadGen's (5.1), and ECC
    /// (4.1.1).
    pub(crate) in_closed: bool,
    /// True if the Open division requires the rule: an unaltered LoadGen with the announced seeds
    /// that calls the result VALID, the files and fields that the official checker requires of any
    /// submission, and the reason for the Open division.
    pub(crate) in_open: bool,
    /// Code that keeps the rule.
    pub(super) enforced_by: &'static str,
    /// Facts by which `check` judges the rule.
    pub(super) evidence: &'static str,
    /// Tests of the rule.
    pub(super) tests: &'static str,
    /// Facts that must be equal in two files.
    pub(super) agreements: &'static [Agreement],
    pub(super) judge: fn(&Subject, &mut Findings),
}

impl RuleEntry {
    pub(crate) fn judge(&self, subject: &Subject, found: &mut AllFindings) {
        let mut found = found.of(self.id);
        agreement::compare(self.agreements, subject, &mut found);
        (self.judge)(subject, &mut found);
    }
}
