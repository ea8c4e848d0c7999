//! N13: the SUT's name contains "Network SUT" (rules, section 6.2.1).

use crate::subject::{Findings, Subject, missing_key};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        let mut at = found.at(&run.place);
        match detail.text("sut_name") {
            None => at.fail(missing_key("sut_name")),
            Some(name) if !name.contains("Network SUT") => {
                at.fail(format!("sut_name `{name}` does not contain `Network SUT`"));
            }
            Some(_) => {}
        }
        at.or_pass("sut_name contains \"Network SUT\" in every detail log");
    }
}
