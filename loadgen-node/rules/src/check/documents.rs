//! N23 and N28, and of N22 the switches: diagram and architecture (rules, sections 6.2.3 and 5.1).

use std::collections::BTreeSet;

use super::{
    checked_folder::{Subject, Tree},
    findings::Findings,
    made_again::{only_system, papers},
    measured, regenerated,
    topology::{self, Ports},
};
use crate::{
    Rule::{N22, N23, N28},
    derived::markdown::rows,
    facts::rate::bits_per_second,
    submission::papers::FREE,
    tree::documents,
};

/// A document that the runs make: its name and its text.
type Paper = (&'static str, String);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "switches, diagram and architecture";
    let Some(tree) = found.tree(subject, [N22, N23, N28], text) else { return };
    if subject.is_foreign() {
        return;
    }
    let ports = topology::ports(subject.records());
    let switches = switches(subject, tree, found);
    let papers = papers(subject, tree, [FREE; 2]);
    diagram(subject, tree, &ports, &switches, &papers, found);
    architecture(subject, tree, &ports, &papers, found);
}

/// The switches between the machines, by the systems' topologies. Each must be described, and each port be linked.
fn switches(subject: &Subject, tree: &Tree, found: &mut Findings) -> BTreeSet<String> {
    let text = tree.document(documents::DIAGRAM_TEXT).unwrap_or_default();
    let mut all = BTreeSet::new();
    for system in &subject.systems {
        let Some(field) = system.text("network_topology") else { continue };
        let Some(links) = topology::links(&field) else {
            let text = "network_topology is no list of links, such as `loadgen:eth0 <-> leaf:1; \
                        leaf:2 <-> node-a:eth0`: which switches there are cannot be told";
            found.unknown(N22, &system.place, text);
            continue;
        };
        for (device, name) in topology::unlinked(subject, system, &links) {
            let text = format!("{device}:{name} is in use, and network_topology has no link of it");
            found.fail(N23, &system.place, text);
        }
        let switches = topology::switches(subject, &links);
        let mut at = found.at(N22, &system.place);
        if only_system(subject).is_some() {
            let named = rows(&text).into_iter().filter(|row| row.head[0] == "switch");
            let named = named.filter_map(|row| row.cells.into_iter().next());
            at.fail_each(named.filter(|name| !switches.contains(name)).map(|name| {
                format!("system-diagram.md has the switch {name}, which no link in network_topology leads to")
            }));
        }
        for switch in switches.iter().filter(|switch| !is_described(&text, switch)) {
            at.fail(format!(
                "the switch {switch} is not described: say its model, its ports and their speed in system-diagram.md"
            ));
        }
        at.or_pass("every switch is described");
        all.extend(switches);
    }
    all
}

/// A line with its name, a number of ports and a speed.
fn is_described(text: &str, switch: &str) -> bool {
    text.lines().any(|line| {
        let Some(rest) = without(line, switch) else { return false };
        let is_count = |word: &str| word.parse::<u32>().is_ok();
        let has_ports = rest.split(|c: char| !c.is_alphanumeric()).any(is_count);
        has_ports && bits_per_second(&rest).is_some()
    })
}

/// The line without the name, where it stands there as a word and not as a part of `NAME:PORT`.
fn without(line: &str, name: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || "-_.:".contains(c);
    line.match_indices(name).find_map(|(start, _)| {
        let (before, after) = (&line[..start], &line[start + name.len()..]);
        let is_word = !before.ends_with(is_part) && !after.starts_with(is_part);
        is_word.then(|| format!("{before}{after}"))
    })
}

fn diagram(
    subject: &Subject,
    tree: &Tree,
    ports: &Ports,
    switches: &BTreeSet<String>,
    papers: &[Paper],
    found: &mut Findings,
) {
    let names: BTreeSet<_> =
        ports.iter().flat_map(|(device, port)| [device, port]).chain(switches).collect();
    let names = || names.iter().map(|name| name.as_str());
    let place = tree.home.document(documents::DIAGRAM);
    let mut at = found.at(N23, &place);
    match tree.document(documents::DIAGRAM) {
        None => at.fail("is missing or empty: draw how the machines are connected"),
        Some(svg) => {
            let ours = of_name(papers, documents::DIAGRAM);
            regenerated::compare(&mut at, &place, &svg, &ours, names());
        }
    }
    let place = tree.home.document(documents::DIAGRAM_TEXT);
    match tree.document(documents::DIAGRAM_TEXT) {
        None => at.fail_there(place, "is missing or empty: explain the diagram"),
        Some(text) => {
            let ours = of_name(papers, documents::DIAGRAM_TEXT);
            regenerated::compare(&mut at, &place, &text, &ours, names());
        }
    }
    if ports.is_empty() {
        let has_evidence = subject.records().any(|(_, record)| record.evidence.is_some());
        let why = if has_evidence {
            "no route in the runs' evidence is over an interface that it describes"
        } else {
            "the runs have no evidence"
        };
        at.unknown(format!("which machines and interfaces it must show is not known: {why}"));
    }
    at.or_pass("the diagram shows every machine, interface and switch, and has its text");
}

/// The texts that a document may have.
fn of_name<'p>(papers: &'p [Paper], name: &str) -> Vec<&'p str> {
    papers.iter().filter(|(paper, _)| *paper == name).map(|(_, text)| &text[..]).collect()
}

fn architecture(
    subject: &Subject,
    tree: &Tree,
    ports: &Ports,
    papers: &[Paper],
    found: &mut Findings,
) {
    let place = tree.home.document(documents::ARCHITECTURE);
    let mut at = found.at(N28, &place);
    let Some(text) = tree.document(documents::ARCHITECTURE) else {
        return at.fail(
            "is missing or empty: describe the NICs, the way from them to the accelerators, and what shows that it carries \
             the load",
        );
    };
    let names: BTreeSet<_> = ports.iter().flat_map(|(device, port)| [&device[..], port]).collect();
    let ours = of_name(papers, documents::ARCHITECTURE);
    regenerated::compare(&mut at, &place, &text, &ours, names);
    if !text.lines().any(|line| bits_per_second(line).is_some()) {
        at.fail("gives no bandwidth, such as `100 Gb/s`");
    }
    for (place, text) in measured::wrong(subject, tree, &text) {
        at.fail_there(place, text);
    }
    at.or_pass("every interface in use is described with its bandwidth");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_needs_a_model_ports_and_a_speed() {
        let text = "| switch | model | ports | speed |\n| leaf | SN3700 | 32 | 200 Gb/s |\n| spine | | | |\n\
                    | leaf:1 | core:2 | fiber | 200 Gb/s |";
        assert!(is_described(text, "leaf"));
        assert!(!is_described(text, "spine") && !is_described(text, "core"));
    }
}
