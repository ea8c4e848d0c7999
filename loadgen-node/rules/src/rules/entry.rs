//! The entry of a rule in the registry.

use super::agreement::{self, Agreement};
use crate::{
    Rule,
    subject::{AllFindings, Findings, Subject},
};

/// Entry of a rule in the registry (`RULES`). Its texts, in Markdown, are the rule's row in
/// docs/generated/rules.md.
pub(crate) struct RuleEntry {
    pub(super) id: Rule,
    /// Section of the rules text that contains the rule, or the name of another document that does.
    pub(super) section: &'static str,
    pub(super) title: &'static str,
    /// True if the Closed division requires the rule; false if only section 6.2, about the Network
    /// division, contains it. N2, N10, N21 and N29 are true because sections for every division
    /// contain the targets, the ban on caching (4.1.1), the requirement that the figures are
    /// LoadGen's (5.1), and ECC (4.1.1).
    pub(crate) in_closed: bool,
    /// True if the Open division requires the rule. It requires an unaltered LoadGen (N3) with the
    /// announced seeds (N31), the duration and queries of N32, a VALID result (N33), the files and
    /// fields that the official checker requires of any submission (N35, N36), and the reason for
    /// being in the Open division (N38).
    pub(crate) in_open: bool,
    /// Text that names the code which enforces the rule.
    pub(super) enforced_by: &'static str,
    /// Text that names the facts by which `check` judges the rule.
    pub(super) evidence: &'static str,
    /// Text that names the tests of the rule.
    pub(super) tests: &'static str,
    /// Comparisons of facts that are stated twice, made before `judge` runs.
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
