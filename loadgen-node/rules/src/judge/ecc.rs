//! Requires every memory to correct errors, for N29 (rules, section 4.1.1).

use netdiv_contract::v1::Machine;

use crate::Outcome;

/// Returns a finding, as outcome and text, for each memory of a machine whose ECC is off or
/// unknown.
pub(crate) fn check_memories(machine: &Machine) -> Vec<(Outcome, String)> {
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
