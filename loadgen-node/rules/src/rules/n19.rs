//! N19: batching, pre- and post-processing at the SUT (rules, section 6.2.3).

use super::n16::judge_by_construction;
use crate::subject::{Findings, Subject};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let claim = "the QDL has no batches and no tensors; the nodes have (sut-node/)";
    judge_by_construction(claim, subject, found);
}
