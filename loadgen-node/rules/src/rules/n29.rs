//! N29: error correction in every memory (rules, section 4.1.1).

use super::RuleEntry;
use crate::{
    Rule,
    judge::ecc,
    subject::{Findings, Subject, runs_with_evidence},
};

pub(super) const RULE: RuleEntry = RuleEntry {
    id: Rule::N29,
    section: "4.1.1",
    title: "ECC is on",
    in_closed: true,
    in_open: false,
    enforced_by: "`policy/machines.rs` refuses the run where it is known to be off",
    evidence: "main memory and accelerators of every machine (`judge/ecc.rs`, as before the run)",
    tests: "mutations",
    agreements: &[],
    judge,
};

fn judge(subject: &Subject, found: &mut Findings) {
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
