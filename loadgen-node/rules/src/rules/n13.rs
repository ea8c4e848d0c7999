//! N13: the SUT's name contains "Network SUT" (rules, section 6.2.1).

use crate::{
    judge::check_sut_name,
    subject::{Findings, Subject},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
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
