//! N12: LoadGen sees a single SUT (rules, section 6.2.1).

use super::n16::judge_by_construction;
use crate::{
    Division,
    subject::{Findings, Subject, missing_key},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let claim = "LoadGen has one QDL and one test at a time (loadgen-sys)";
    judge_by_construction(claim, subject, found);
    if subject.division == Division::Network {
        single_tests(subject, found);
    }
}

/// Finds detail logs that contain several tests. Each test has its own figures, and programs that
/// read such a log differ in the test that they use. Only the Network division requires N12; N33
/// calls this function for the other divisions.
pub(super) fn single_tests(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        let mut at = found.at(&run.place);
        match detail.tests {
            0 => at.fail(missing_key("test_datetime")),
            1 => {}
            tests => at.fail(format!(
                "the detail log covers {tests} tests: use a separate folder for each run"
            )),
        }
        at.or_pass("one test in each log");
    }
}
