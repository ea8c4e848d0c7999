//! N29: every memory corrects errors (rules, section 4.1.1).

use netdiv_contract::v1::Machine;

use crate::{Finding, Rule};

const N29: Rule = Rule::new(29);

/// What is wrong with a machine's memories: ECC that is off, and memories of which it is not known.
pub(crate) fn memories(machine: &Machine, who: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    match machine.memory_ecc {
        Some(true) => {}
        Some(false) => findings.push(off(who, "its main memory")),
        None => {
            let how = "load the EDAC driver, or state memory_ecc";
            findings.push(unknown(who, "whether ECC is on in its main memory is not known", how));
        }
    }
    // Accelerators that are not described may lack ECC.
    let described = machine.accelerators.len();
    match machine.accelerator_count {
        Some(count) if usize::try_from(count) == Ok(described) => {}
        Some(count) => {
            let what = format!("of its {count} accelerators {described} are described");
            findings.push(unknown(who, &what, "state the others, with their ECC,"));
        }
        None => {
            let how = "state accelerators, or accelerator_count,";
            findings.push(unknown(who, "whether it has accelerators is not known", how));
        }
    }
    for accelerator in &machine.accelerators {
        let name = &accelerator.name;
        match accelerator.ecc {
            Some(true) => {}
            Some(false) => findings.push(off(who, &format!("the memory of its {name}"))),
            None => {
                let what = format!("whether ECC is on in the memory of its {name} is not known");
                findings.push(unknown(who, &what, "state it"));
            }
        }
    }
    findings
}

fn off(who: &str, memory: &str) -> Finding {
    Finding::fail(N29, who, format!("ECC is off in {memory}: turn it on, in all runs"))
}

fn unknown(who: &str, what: &str, how: &str) -> Finding {
    let text = format!("{what}: {how} in the machine's evidence file and run again");
    Finding::cannot_tell(N29, who, text)
}
