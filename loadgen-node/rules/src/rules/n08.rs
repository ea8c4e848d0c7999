//! N8: no post-processing of responses in the QDL, shown by digests (rules, section 6.2.1).

use super::n07::{conclusive_digests, differences};
use crate::subject::{Findings, Subject};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (place, _, digests) in conclusive_digests(subject, found) {
        let responses = &digests.responses;
        let mut at = found.at(place);
        at.fail_each(differences("responses", responses));
        at.or_pass(format!("{} responses have the same digests at both ends", responses.sent));
    }
}
