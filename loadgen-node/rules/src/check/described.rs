//! N20 and N29: the settings of every node, and error correction in every memory (rules, sections 6.2.3 and 4.1.1).

use netdiv_proto::v1::Machine;

use super::{
    findings::Findings,
    machines::{Seen, seen},
    subject::Subject,
};
use crate::Rule;

const N20: Rule = Rule::new(20);
const N29: Rule = Rule::new(29);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for seen in seen(subject, N20, found) {
        let before = found.problems(N20);
        settings(&seen, found);
        let text = "the settings of every node are recorded, with their hashes";
        found.pass_unless_more(N20, before, seen.place, text);
    }
    for seen in seen(subject, N29, found) {
        let before = found.problems(N29);
        ecc(&seen, found);
        let text = "every memory corrects errors";
        found.pass_unless_more(N29, before, seen.place, text);
    }
}

fn settings(seen: &Seen, found: &mut Findings) {
    if seen.record.settings.is_empty() {
        found.fail(N20, seen.place, "the LoadGen node's own settings are not recorded");
    }
    for node in &seen.record.nodes {
        let (name, hash) = (&node.name, &node.config_sha256);
        if hash.is_empty() {
            found.fail(
                N20,
                seen.place,
                format!("node {name} did not give the hash of its settings"),
            );
        }
        let Some(machine) = seen.evidence.nodes.get(name) else { continue };
        if machine.settings.as_deref().is_none_or(|text| text.trim().is_empty()) {
            found.fail(N20, seen.place, format!("node {name} did not say what its settings are"));
        }
        match machine.settings_sha256.as_deref() {
            Some(said) if said == hash => {}
            Some(said) => {
                let text = format!(
                    "node {name} ran with settings of SHA-256 {hash}, and the recorded ones have \
                     {said}"
                );
                found.fail(N20, seen.place, text);
            }
            None => {
                let text = format!("the recorded settings of node {name} have no hash");
                found.fail(N20, seen.place, text);
            }
        }
    }
}

fn ecc(seen: &Seen, found: &mut Findings) {
    for (who, machine) in seen.machines() {
        match machine.memory_ecc {
            Some(true) => {}
            Some(false) => {
                let text = format!("ECC is off in the main memory of {who}: turn it on");
                found.fail(N29, seen.place, text);
            }
            None => {
                let text = format!(
                    "whether ECC is on in the main memory of {who} is not known: load the EDAC \
                     driver, or state memory_ecc in the machine's evidence file"
                );
                found.unknown(N29, seen.place, text);
            }
        }
        accelerators(&who, machine, seen, found);
        for accelerator in &machine.accelerators {
            let name = &accelerator.name;
            match accelerator.ecc {
                Some(true) => {}
                Some(false) => {
                    let text = format!("ECC is off in {name} of {who}: turn it on");
                    found.fail(N29, seen.place, text);
                }
                None => {
                    let text = format!(
                        "whether ECC is on in {name} of {who} is not known: state it in the \
                         machine's evidence file"
                    );
                    found.unknown(N29, seen.place, text);
                }
            }
        }
    }
}

/// Those that are not described may lack ECC.
fn accelerators(who: &str, machine: &Machine, seen: &Seen, found: &mut Findings) {
    let listed = machine.accelerators.len();
    match machine.accelerator_count {
        Some(count) if usize::try_from(count) == Ok(listed) => {}
        Some(count) => {
            let text = format!(
                "of the {count} accelerators of {who}, {listed} are described: state the others, \
                 with their ECC, in the machine's evidence file"
            );
            found.unknown(N29, seen.place, text);
        }
        None => {
            let text = format!(
                "whether {who} has accelerators is not known: state accelerators, or \
                 accelerator_count, in the machine's evidence file"
            );
            found.unknown(N29, seen.place, text);
        }
    }
}
