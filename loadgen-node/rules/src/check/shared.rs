//! Nodes that share a machine: of N15 and N20 that they do.

use netdiv_proto::v1::Machine;

use super::{findings::Findings, subject::Subject};
use crate::{Rule, result::Evidence};

const N15: Rule = Rule::new(15);
const N20: Rule = Rule::new(20);

/// Machines of the nodes, each with the names of its nodes, in the order of the names.
pub(super) fn machines(evidence: &Evidence) -> Vec<(Vec<&str>, &Machine)> {
    let mut all: Vec<(Vec<&str>, &Machine)> = Vec::new();
    for (name, machine) in &evidence.nodes {
        match all.iter_mut().find(|(_, known)| is_one(known, machine)) {
            Some((names, _)) => names.push(name),
            None => all.push((vec![name], machine)),
        }
    }
    all
}

/// Whether two descriptions are of the same machine in the same boot.
pub(crate) fn is_one(one: &Machine, other: &Machine) -> bool {
    let same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
    same(&one.machine_id, &other.machine_id) && same(&one.boot_id, &other.boot_id)
}

/// Says which do.
pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        let Some(evidence) = &record.evidence else { continue };
        let place = &run.record_place;
        for (names, _) in machines(evidence).iter().filter(|(names, _)| names.len() > 1) {
            let nodes = names.join(" and ");
            let text = format!("{nodes} are on one machine, each with a name of its own");
            found.pass(N15, place, text);
            let text = format!("{nodes} are on one machine, and share its interfaces");
            found.pass(N20, place, text);
        }
    }
}
