//! N29: error correction in every memory (rules, section 4.1.1).

use netdiv_contract::v1::Machine;

use crate::{
    Outcome,
    subject::{Findings, Subject, runs_with_evidence},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for seen in runs_with_evidence(subject, found) {
        let mut at = found.at(seen.place);
        for (who, machine) in seen.machines() {
            for (outcome, text) in memory_findings(machine) {
                at.find(outcome, format!("{who}: {text}"));
            }
        }
        at.or_pass("every memory corrects errors");
    }
}

/// Returns a finding, as outcome and text, for each memory of a machine whose ECC is off or
/// unknown.
fn memory_findings(machine: &Machine) -> Vec<(Outcome, String)> {
    let mut found = Vec::new();
    match machine.memory_ecc {
        Some(true) => {}
        Some(false) => found.push(off("its main memory")),
        None => {
            let how = "load the EDAC driver, or state memory_ecc";
            found.push(unknown("whether ECC is on in its main memory is not known", how));
        }
    }
    // Accelerators without a description may lack ECC.
    let described = machine.accelerators.len();
    match machine.accelerator_count {
        Some(count) if usize::try_from(count) == Ok(described) => {}
        Some(count) => {
            let what = format!("only {described} of its {count} accelerators are described");
            found.push(unknown(&what, "state the others, with their ECC,"));
        }
        None => {
            let how = "state accelerators, or accelerator_count,";
            found.push(unknown("whether it has accelerators is not known", how));
        }
    }
    for accelerator in &machine.accelerators {
        let name = &accelerator.name;
        match accelerator.ecc {
            Some(true) => {}
            Some(false) => found.push(off(&format!("the memory of its {name}"))),
            None => {
                let what = format!("whether ECC is on in the memory of its {name} is not known");
                found.push(unknown(&what, "state it"));
            }
        }
    }
    found
}

fn off(memory: &str) -> (Outcome, String) {
    (Outcome::Fail, format!("ECC is off in {memory}: turn it on, in all runs"))
}

fn unknown(what: &str, how: &str) -> (Outcome, String) {
    (Outcome::CannotTell, format!("{what}: {how} in the machine's evidence file and run again"))
}
