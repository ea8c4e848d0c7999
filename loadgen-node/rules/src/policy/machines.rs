//! Checks of the machines and of the routes between them.

use super::choice::RunChoices;
use crate::{
    Finding, Outcome,
    Rule::{N4, N5, N18, N29},
    judge::{
        ecc,
        machines::{LOADGEN_NODE, MachineFinding, check_machines},
    },
    record::Evidence,
};

pub(super) fn check(choice: &RunChoices<'_>) -> Vec<Finding> {
    if choice.is_in_process {
        let text = "the model runs in the process of the LoadGen node; run it with sut-node, on another machine";
        return vec![
            Finding::fail(N4, "in-process", text),
            Finding::fail(N18, "in-process", "samples do not cross a network"),
        ];
    }
    match choice.evidence.filter(|evidence| !evidence.nodes.is_empty()) {
        Some(evidence) => machines(evidence),
        None => {
            let text = "there is no evidence about the nodes' machines; request it from the nodes";
            [N4, N5].map(|rule| Finding::cannot_tell(rule, "evidence", text)).into()
        }
    }
}

/// Judges the evidence about the machines and the routes between them: a single machine at both
/// ends (N4), a fabric that is not permitted (N5), ECC that is off (N29). For N4 and N5, gaps in
/// the evidence are findings, too.
fn machines(evidence: &Evidence) -> Vec<Finding> {
    let with_peer = |MachineFinding { mut finding, peer }: MachineFinding| {
        if let Some(peer) = peer {
            finding.place += &format!(" to {peer}");
        }
        finding
    };
    let mut findings: Vec<_> = check_machines(evidence).into_iter().map(with_peer).collect();
    let nodes = evidence.nodes.iter().map(|(name, machine)| (name.as_str(), machine));
    for (name, machine) in [(LOADGEN_NODE, &evidence.loadgen_node)].into_iter().chain(nodes) {
        let memories = ecc::check_memories(machine).into_iter();
        let off = memories.filter(|(outcome, _)| *outcome == Outcome::Fail);
        findings.extend(off.map(|(_, text)| Finding::fail(N29, name, text)));
    }
    findings
}
