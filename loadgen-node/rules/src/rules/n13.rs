//! N13: the SUT's name contains "Network SUT" (rules, section 6.2.1).

use super::RuleEntry;
use crate::{
    Rule,
    judge::check_sut_name,
    subject::{Findings, Subject},
};

pub(super) const RULE: RuleEntry = RuleEntry {
    id: Rule::N13,
    section: "6.2.1",
    title: "the SUT's name contains \"Network SUT\"",
    in_closed: false,
    in_open: false,
    enforced_by: "`qdl/src/qdl.rs`",
    evidence: "every detail log, also those of accuracy and compliance runs",
    tests: "`wire.rs`",
    agreements: &[],
    judge,
};

fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        let mut at = found.at(&run.place);
        match detail.text("sut_name") {
            None => at.fail("the detail log has no sut_name: submit the log as LoadGen wrote it"),
            Some(name) => {
                at.fail_each(check_sut_name(name).map(|what| format!("sut_name {what}")));
            }
        }
        at.or_pass("sut_name contains \"Network SUT\" in every detail log");
    }
}
