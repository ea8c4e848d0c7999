//! N23: a system diagram with its text (rules, section 6.2.3).

use std::collections::BTreeSet;

use super::{document_diff, regeneration::AcceptableTexts};
use crate::{
    subject::{Findings, Subject, SubmissionTree, topology},
    tree::documents,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "switches, diagram and architecture";
    let Some(tree) = found.own_tree(subject, text) else { return };
    let mut switches = BTreeSet::new();
    for system in &subject.systems {
        // N22 finds a text that is not a list of links.
        let links = system.text("network_topology").and_then(|field| topology::links(&field));
        let Some(links) = links else { continue };
        for (device, name) in topology::unlinked(subject, system, &links) {
            let text =
                format!("{device}:{name} is in use, and network_topology has no link for it");
            found.fail(&system.place, text);
        }
        switches.extend(topology::switches(subject, &links));
    }
    diagram(subject, tree, &switches, found);
}

fn diagram(
    subject: &Subject,
    tree: &SubmissionTree,
    switches: &BTreeSet<String>,
    found: &mut Findings,
) {
    let ports = topology::ports(subject.records());
    let names: BTreeSet<_> =
        ports.iter().flat_map(|(device, port)| [device, port]).chain(switches).collect();
    let names = names.iter().map(|name| name.as_str());
    let place = tree.home.document(documents::DIAGRAM);
    let mut at = found.at(&place);
    match tree.document(documents::DIAGRAM) {
        None => at.fail("is missing or empty: draw and explain how the machines are connected"),
        Some(text) => {
            let ours = AcceptableTexts::of(subject, tree, documents::DIAGRAM);
            let text = document_diff::without_own_paragraphs(&text, &ours);
            document_diff::compare(&mut at, &place, &text, &ours, names);
        }
    }
    if ports.is_empty() {
        let has_evidence = subject.records().any(|(_, record)| record.evidence.is_some());
        let why = if has_evidence {
            "no route in the runs' evidence uses an interface that the evidence describes"
        } else {
            "the runs have no evidence"
        };
        at.unknown(format!("the machines and interfaces that it must show are unknown: {why}"));
    }
    at.or_pass("the diagram shows every machine, interface and switch, and has its text");
}
