//! N22: the network interfaces of all components are described (rules, section 6.2.3).

use std::collections::{BTreeMap, BTreeSet};

use netdiv_contract::v1::{Interface, Machine};

use super::regeneration::only_system;
use crate::{
    derived::markdown::rows,
    facts::{interfaces::Interfaces as _, machines::non_empty, rate::bits_per_second},
    input::files::entries,
    subject::{Findings, Subject, SubmissionTree, report_missing, runs_with_evidence, topology},
    tree::documents,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    found.records(subject, |record| {
        let evidence = record.network_evidence().into_iter();
        let machines = evidence.flat_map(|evidence| evidence.machines());
        machines.flat_map(|(name, machine)| misnamed(name, machine))
    });
    if let Some(tree) = found.own_tree(subject, "switches, diagram and architecture") {
        switches(subject, tree, found);
    }
    of_runs(subject, found);
    published(subject, found);
}

/// Returns findings about interfaces of a machine that share a name, or whose underlying interface
/// is missing.
fn misnamed(who: &str, machine: &Machine) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for interface in &machine.interfaces {
        *counts.entry(interface.name.as_str()).or_default() += 1;
    }
    let twice = counts
        .iter()
        .filter(|(_, count)| **count > 1)
        .map(|(name, _)| format!("{who} has two interfaces named {name}"));
    let mut wrong: Vec<_> = twice.collect();
    for interface in &machine.interfaces {
        for below in interface.over.iter().filter(|below| !counts.contains_key(below.as_str())) {
            let name = &interface.name;
            wrong.push(format!(
                "{name} of {who} has the underlying interface {below}, which is missing"
            ));
        }
    }
    wrong
}

/// Requires that the evidence of the runs describes every interface in use.
fn of_runs(subject: &Subject, found: &mut Findings) {
    for seen in runs_with_evidence(subject, found) {
        let mut at = found.at(seen.place);
        for (who, machine) in seen.machines() {
            let carriers = machine.carriers();
            if carriers.used.is_empty() || !carriers.unknown.is_empty() {
                at.unknown(format!("{who}: the interfaces of its routes are not all known"));
            }
            for interface in carriers.used {
                let unknown = unknown(machine, interface);
                if !unknown.is_empty() {
                    let (name, unknown) = (&interface.name, unknown.join(", "));
                    let text = format!("{unknown} of {name} of {who} not known");
                    report_missing(subject, &text, &mut at);
                }
            }
        }
        at.or_pass("model, driver, firmware, speed and MTU of every interface in use are known");
    }
}

/// Returns the unknown properties of an interface in use and of its underlying adapters.
fn unknown(machine: &Machine, interface: &Interface) -> Vec<&'static str> {
    let adapters = machine.adapters(&interface.name);
    let all = |of: fn(&Interface) -> &Option<String>| {
        adapters.values().all(|adapter| adapter.is_some_and(|one| non_empty(of(one)).is_some()))
    };
    let known = [
        ("model", all(|adapter| &adapter.model)),
        ("driver", all(|adapter| &adapter.driver)),
        ("firmware", all(|adapter| &adapter.firmware)),
        ("speed", interface.speed_mbit_per_second.is_some()),
        ("MTU", interface.mtu_bytes.is_some()),
    ];
    known.iter().filter(|(_, known)| !known).map(|(what, _)| *what).collect()
}

/// Compares the published evidence of each machine with the runs.
fn published(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else { return };
    let evidence = || subject.records().filter_map(|(_, record)| record.evidence.as_ref());
    let machines = || evidence().flat_map(|all| all.machines());
    let with_nodes = evidence().filter(|all| !all.nodes.is_empty());
    let names: BTreeSet<_> =
        with_nodes.flat_map(|all| all.machines()).map(|(name, _)| name).collect();
    strangers(tree, &names, found);
    // A missing or unusable record may be the only one with this evidence.
    let all_known = subject.runs().all(|(_, run)| run.result().is_some());
    for name in names {
        let place = tree.home.evidence(name);
        let Some(text) = tree.text(&place) else {
            let text = "is missing or empty: copy the machine's evidence from a result.json";
            found.fail(place, text);
            continue;
        };
        let shown: Option<Machine> = serde_json::from_str(&text).ok();
        let is_shown = |machine: &Machine| shown.as_ref() == Some(machine);
        if all_known && !machines().any(|(said_by, machine)| said_by == name && is_shown(machine)) {
            let text =
                "differs from the machine's evidence in every run: copy it from a result.json";
            found.fail(place, text);
        }
    }
}

/// Finds evidence files that belong to no machine and that the architecture does not name.
fn strangers(tree: &SubmissionTree, names: &BTreeSet<&str>, found: &mut Findings) {
    let architecture = tree.document(documents::ARCHITECTURE).filter(|_| !names.is_empty());
    let Some(architecture) = architecture else { return };
    let folder = tree.home.document("evidence");
    for (name, _) in entries(&tree.path(&folder)).unwrap_or_default() {
        let is_of_machine = name.strip_suffix(".json").is_some_and(|name| names.contains(name));
        if !is_of_machine && !architecture.contains(&format!("evidence/{name}")) {
            let text = "belongs to no machine of the runs: remove it, or link to it in system-architecture.md";
            found.fail(format!("{folder}/{name}"), text);
        }
    }
}

/// Requires that system-diagram.md describes every switch in the systems' `network_topology`, and
/// no other switch if there is only one system.
fn switches(subject: &Subject, tree: &SubmissionTree, found: &mut Findings) {
    let text = tree.document(documents::DIAGRAM).unwrap_or_default();
    for system in &subject.systems {
        let Some(field) = system.text("network_topology") else { continue };
        let Some(links) = topology::links(&field) else {
            let text = "network_topology is not a list of links, such as `loadgen:eth0 <-> leaf:1; leaf:2 <-> node-a:eth0`, \
         so the switches are unknown";
            found.unknown(&system.place, text);
            continue;
        };
        let switches = topology::switches(subject, &links);
        let mut at = found.at(&system.place);
        if only_system(subject).is_some() {
            let named = rows(&text).into_iter().filter(|row| row.head[0] == "switch");
            let named = named.filter_map(|row| row.cells.into_iter().next());
            at.fail_each(named.filter(|name| !switches.contains(name)).map(|name| {
                format!("system-diagram.md has the switch {name}, to which no link in network_topology leads")
            }));
        }
        for switch in switches.iter().filter(|switch| !is_described(&text, switch)) {
            at.fail(format!(
                "the switch {switch} is not described: state its model, its ports and their speed in system-diagram.md"
            ));
        }
        at.or_pass("every switch is described");
    }
}

/// Returns true if a line has the name of the switch, a number of ports and a speed.
fn is_described(text: &str, switch: &str) -> bool {
    text.lines().any(|line| {
        let Some(rest) = without(line, switch) else { return false };
        let is_count = |word: &str| word.parse::<u32>().is_ok();
        let has_ports = rest.split(|c: char| !c.is_alphanumeric()).any(is_count);
        has_ports && bits_per_second(&rest).is_some()
    })
}

/// Returns the line without the name, if the name is a word of the line and not a part of
/// `NAME:PORT`.
fn without(line: &str, name: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || "-_.:".contains(c);
    line.match_indices(name).find_map(|(start, _)| {
        let (before, after) = (&line[..start], &line[start + name.len()..]);
        let is_word = !before.ends_with(is_part) && !after.starts_with(is_part);
        is_word.then(|| format!("{before}{after}"))
    })
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
