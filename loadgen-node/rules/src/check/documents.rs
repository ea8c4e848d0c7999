//! N23 and N28, and of N22 the switches: diagram and architecture (rules, sections 6.2.3 and 5.1).

use std::collections::BTreeSet;

use super::{
    checked_folder::{Run, Subject, System, Tree},
    diagram,
    findings::Findings,
    likeness,
    made_again::{Papers, only_system, papers},
    measured, topology,
};
use crate::{
    Rule::{N22, N23, N28},
    derived::markdown::rows,
    facts::{interfaces::Interfaces as _, rate::bits_per_second, svg::drawn},
    result::RunResult,
    tree::documents,
};

/// Machines and their adapters.
type Ports = BTreeSet<(String, String)>;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "switches, diagram and architecture";
    let Some(tree) = found.tree(subject, [N22, N23, N28], text) else { return };
    if subject.is_foreign() {
        return;
    }
    let ports = ports(subject.records());
    let switches = switches(subject, tree, found);
    // By a topology that lacks a port, the documents show too much.
    let is_whole = subject.systems.iter().all(|system| unlinked(subject, system).is_empty());
    let papers = if is_whole { papers(subject, tree, ["", ""]) } else { Vec::new() };
    diagram(subject, tree, &ports, &switches, &papers, found);
    architecture(subject, tree, &ports, &papers, found);
}

/// Machines of runs, and their adapters on routes.
fn ports<'a>(records: impl Iterator<Item = (&'a Run, &'a RunResult)>) -> Ports {
    let evidence = records.filter_map(|(_, record)| record.evidence.as_ref());
    let machines = evidence.flat_map(|evidence| evidence.machines());
    let ports = machines.flat_map(|(name, machine)| {
        let carriers = machine.carriers().used.into_iter();
        let adapters = carriers.flat_map(|carrier| machine.adapters(&carrier.name).into_keys());
        adapters.map(|adapter| (name.to_owned(), adapter.to_owned()))
    });
    ports.collect()
}

/// Ports in use that a system's topology has no link of, where it is a list of links.
fn unlinked(subject: &Subject, system: &System) -> Ports {
    let links = system.text("network_topology").and_then(|field| topology::links(&field));
    let Some(links) = links else { return Ports::new() };
    let linked: Ports = links.iter().flat_map(|link| link.ends.clone()).collect();
    ports(subject.records_of(system)).into_iter().filter(|port| !linked.contains(port)).collect()
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
        for (device, name) in unlinked(subject, system) {
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

fn all_described(tree: &Tree, switches: &BTreeSet<String>) -> bool {
    let text = tree.document(documents::DIAGRAM_TEXT).unwrap_or_default();
    switches.iter().all(|switch| is_described(&text, switch))
}

fn diagram(
    subject: &Subject,
    tree: &Tree,
    ports: &Ports,
    switches: &BTreeSet<String>,
    papers: &[Papers],
    found: &mut Findings,
) {
    let mut at = found.at(N23, tree.home.document(documents::DIAGRAM));
    match tree.document(documents::DIAGRAM) {
        None => at.fail("is missing or empty: draw how the machines are connected"),
        // What it must show line by line is not known.
        Some(svg) if papers.is_empty() || !all_described(tree, switches) => match drawn(&svg) {
            Err(why) => at.fail(why),
            Ok(drawn) => {
                let names = ports.iter().flat_map(|(device, port)| [device, port]).chain(switches);
                let texts: Vec<_> =
                    drawn.seen.iter().map(|text| text.text.to_lowercase()).collect();
                let is_shown =
                    |name: &String| texts.iter().any(|text| text.contains(&name.to_lowercase()));
                let missing: BTreeSet<_> = names.filter(|name| !is_shown(name)).collect();
                at.fail_each(missing.into_iter().map(|name| format!("does not show {name}")));
            }
        },
        Some(svg) => {
            let more = may_show(subject, tree, switches);
            let wrong = |ours: &str| diagram::unlike(ours, &svg, &more);
            at.fail_each(least_wrong(papers, documents::DIAGRAM, wrong));
        }
    }
    let place = tree.home.document(documents::DIAGRAM_TEXT);
    match tree.document(documents::DIAGRAM_TEXT) {
        None => at.fail_there(place, "is missing or empty: explain the diagram"),
        Some(text) => {
            let wrong = |ours: &str| likeness::unlike(ours, &text);
            for wrong in least_wrong(papers, documents::DIAGRAM_TEXT, wrong) {
                at.fail_there(&place, wrong);
            }
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

/// What a drawing may show that is in no evidence: its heading; and of a switch that the text has no row of, what the text
/// says of it in words of its own.
fn may_show(subject: &Subject, tree: &Tree, switches: &BTreeSet<String>) -> impl Fn(&str) -> bool {
    let system = only_system(subject);
    let headings = system.map(|system| format!("The system {}", system.name));
    let headings: Vec<_> =
        headings.into_iter().chain(system.and_then(|system| system.text("system_name"))).collect();
    let text = tree.document(documents::DIAGRAM_TEXT).unwrap_or_default();
    let rows = rows(&text);
    let has_row = |name: &&String| rows.iter().any(|row| row.cells.first() == Some(*name));
    let others: Vec<_> = switches.iter().filter(|name| !has_row(name)).collect();
    let lines = text.lines().filter(|line| others.iter().any(|name| is_described(line, name)));
    let lines: Vec<_> = lines.map(|line| format!("{line} ports")).collect();
    move |text| {
        headings.iter().any(|heading| heading == text)
            || lines.iter().any(|line| likeness::has_words(line, text))
    }
}

/// What is wrong with a document by the run that it is most like.
fn least_wrong(papers: &[Papers], name: &str, wrong: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let ours = papers.iter().flatten().filter(|(paper, _)| *paper == name);
    ours.map(|(_, ours)| wrong(ours)).min_by_key(Vec::len).unwrap_or_default()
}

fn architecture(
    subject: &Subject,
    tree: &Tree,
    ports: &Ports,
    papers: &[Papers],
    found: &mut Findings,
) {
    let mut at = found.at(N28, tree.home.document(documents::ARCHITECTURE));
    let Some(text) = tree.document(documents::ARCHITECTURE) else {
        return at.fail(
            "is missing or empty: describe the NICs, the way from them to the accelerators, and what shows that it carries \
             the load",
        );
    };
    if papers.is_empty() {
        let is_missing =
            |(device, port): &&(String, String)| !(text.contains(device) && text.contains(port));
        let missing = ports.iter().filter(is_missing);
        at.fail_each(missing.map(|(device, port)| format!("does not name {port} of {device}")));
    }
    at.fail_each(least_wrong(papers, documents::ARCHITECTURE, |ours| {
        likeness::unlike(ours, &text)
    }));
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
