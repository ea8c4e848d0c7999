//! N11: responses are decompressed inside the timed region (rules, section 6.2.1).

use super::n16::judge_by_construction;
use crate::subject::{Findings, Subject};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let claim = "a response is decoded before LoadGen receives it (qdl/src/receiver.rs)";
    judge_by_construction(claim, subject, found);
}
