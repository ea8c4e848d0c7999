//! N29: error correction in every memory (rules, section 4.1.1).

use super::{checked_folder::Subject, findings::Findings, machines::seen};
use crate::{Rule::N29, judge::ecc};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for seen in seen(subject, N29, found) {
        let mut at = found.at(N29, seen.place);
        for (who, machine) in seen.machines() {
            for (outcome, text) in ecc::memories(machine) {
                at.find(outcome, format!("{who}: {text}"));
            }
        }
        at.or_pass("every memory corrects errors");
    }
}
