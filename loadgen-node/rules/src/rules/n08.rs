//! N8: no post-processing of responses in the QDL, shown by digests (rules, section 6.2.1).

use super::{RuleEntry, digests};
use crate::{
    Rule,
    subject::{Findings, Subject},
};

pub(super) const RULE: RuleEntry = RuleEntry {
    id: Rule::N8,
    section: "6.2.1",
    title: "no post-processing of responses in the QDL",
    in_closed: false,
    in_open: false,
    enforced_by: "`qdl/src/replies.rs`",
    evidence: "digests: each response as the engine returned it and as LoadGen received it",
    tests: "`accuracy.rs`; `rules.rs`",
    agreements: &[],
    judge,
};

fn judge(subject: &Subject, found: &mut Findings) {
    for (place, _, digests) in digests::conclusive_digests(subject, found) {
        let responses = &digests.responses;
        let mut at = found.at(place);
        at.fail_each(digests::differences("responses", responses));
        at.or_pass(format!("{} responses have the same digests at both ends", responses.sent));
    }
}
