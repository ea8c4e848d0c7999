//! N13: the SUT's name contains "Network SUT" (rules, section 6.2.1).

use super::RuleEntry;
use crate::{
    Rule,
    judge::wrong_sut_name,
    subject::{Findings, Subject},
};

pub(super) const RULE: RuleEntry = RuleEntry {
    id: Rule::N13,
    section: "6.2.1",
    title: "the SUT's name contains \"Network SUT\"",
    in_closed: false,
    in_open: false,
    kept_in: "`qdl/src/qdl.rs`",
    looked_at: "every detail log, also those of accuracy and compliance runs",
    shown_by: "`wire.rs`",
    same: &[],
    judge,
};

fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        let mut at = found.at(&run.place);
        match detail.text("sut_name") {
            None => at.fail("the detail log has no sut_name"),
            Some(name) => {
                at.fail_each(wrong_sut_name(name).map(|what| format!("sut_name {what}")));
            }
        }
        at.or_pass("sut_name contains \"Network SUT\" in every detail log");
    }
}
