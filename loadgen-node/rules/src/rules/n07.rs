//! N7: no pre-processing, conversion or padding in the QDL, shown by digests (rules, section
//! 6.2.1).

use super::digests;
use crate::{
    record::{Comparison, Digests},
    subject::{Findings, Subject},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
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
