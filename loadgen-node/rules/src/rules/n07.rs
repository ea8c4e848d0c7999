//! N7: no pre-processing, conversion or padding in the QDL, shown by digests (rules, section
//! 6.2.1).

use super::{RuleEntry, digests};
use crate::{
    Rule,
    record::{Comparison, Digests},
    subject::{Findings, Subject},
};

pub(super) const RULE: RuleEntry = RuleEntry {
    id: Rule::N7,
    section: "6.2.1",
    title: "no pre-processing, conversion or padding in the QDL",
    in_closed: false,
    in_open: false,
    enforced_by: "`qdl/src/sender.rs`: a message is an id and the QSL's bytes; `proto/transport/` sees bytes only",
    evidence: "digests: each sample in the QSL and as the nodes received it",
    tests: "`wire.rs`; `rules.rs`: a node that received something else",
    agreements: &[],
    judge,
};

fn judge(subject: &Subject, found: &mut Findings) {
    for (place, record, Digests { samples, bytes_issued, .. }) in
        digests::conclusive_digests(subject, found)
    {
        let mut at = found.at(place);
        at.fail_each(digests::differences("samples", samples));
        let sent = record.total(|node| node.bytes_sent);
        if *bytes_issued != sent {
            at.fail(format!(
                "the samples that LoadGen issued have {bytes_issued} bytes in the QSL, and {sent} payload bytes were sent"
            ));
        }
        let Comparison { sent, distinct, .. } = samples;
        at.or_pass(format!(
            "{sent} samples, {distinct} of them different, have the same digests at both ends"
        ));
    }
}
