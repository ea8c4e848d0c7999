//! N11: responses are decompressed inside the timed region (rules, section 6.2.1).

use super::{RuleEntry, n16::judge_by_construction};
use crate::{
    Rule,
    subject::{Findings, Subject},
};

pub(super) const RULE: RuleEntry = RuleEntry {
    id: Rule::N11,
    section: "6.2.1",
    title: "responses are decompressed inside the timed region",
    in_closed: false,
    in_open: false,
    enforced_by: "`replies.rs`: decoded before `QuerySamplesComplete`",
    evidence: "by construction: the sources in the tree are those that ran (N16)",
    tests: "`accuracy.rs`",
    agreements: &[],
    judge,
};

fn judge(subject: &Subject, found: &mut Findings) {
    let claim = "a response is decoded before LoadGen receives it (qdl/src/receiver.rs)";
    judge_by_construction(claim, subject, found);
}
