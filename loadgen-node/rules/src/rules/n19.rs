//! N19: batching, pre- and post-processing at the SUT (rules, section 6.2.3).

use super::{RuleEntry, n16::judge_by_construction};
use crate::{
    Rule,
    subject::{Findings, Subject},
};

pub(super) const RULE: RuleEntry = RuleEntry {
    id: Rule::N19,
    section: "6.2.3",
    title: "batching, pre- and post-processing at the SUT",
    in_closed: false,
    in_open: false,
    enforced_by: "`sut-node/`: batcher and `model/workloads/` ([ENGINES.md](../ENGINES.md#workloads))",
    evidence: "by construction; TEST04",
    tests: "`accuracy.rs`, `torch.rs`",
    agreements: &[],
    judge,
};

fn judge(subject: &Subject, found: &mut Findings) {
    let claim = "the QDL has no batches and no tensors; the nodes have (sut-node/)";
    judge_by_construction(claim, subject, found);
}
