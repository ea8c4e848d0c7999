//! N29: error correction in every memory (rules, section 4.1.1).

use crate::{
    judge::ecc,
    subject::{Findings, Subject, runs_with_evidence},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for seen in runs_with_evidence(subject, found) {
        let mut at = found.at(seen.place);
        for (who, machine) in seen.machines() {
            for (outcome, text) in ecc::check_memories(machine) {
                at.find(outcome, format!("{who}: {text}"));
            }
        }
        at.or_pass("every memory corrects errors");
    }
}
