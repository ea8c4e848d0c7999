//! N22: the network interfaces of all components are described (rules, section 6.2.3).

use std::collections::{BTreeMap, BTreeSet};

use netdiv_contract::v1::{Interface, Machine};

use crate::{
    facts::{interfaces, machines::non_empty},
    input::files::entries,
    subject::{Findings, Subject, SubmissionTree, report_missing, runs_with_evidence},
    tree::documents,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    found.records(subject, |record| {
        let evidence = record.network_evidence().into_iter();
        let machines = evidence.flat_map(|evidence| evidence.machines());
        machines.flat_map(|(name, machine)| misnamed(name, machine))
    });
    require_descriptions(subject, found);
    if let Some(tree) = &subject.tree {
        strangers(subject, tree, found);
    }
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
fn require_descriptions(subject: &Subject, found: &mut Findings) {
    for seen in runs_with_evidence(subject, found) {
        let mut at = found.at(seen.place);
        for (who, machine) in seen.machines() {
            let carriers = interfaces::carriers(machine);
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
    let adapters = interfaces::adapters(machine, &interface.name);
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

/// Finds evidence files that belong to no machine and that the architecture does not link to.
fn strangers(subject: &Subject, tree: &SubmissionTree, found: &mut Findings) {
    let evidence = subject.records().filter_map(|(_, record)| record.evidence.as_ref());
    let with_nodes = evidence.filter(|all| !all.nodes.is_empty());
    let names: BTreeSet<_> =
        with_nodes.flat_map(|all| all.machines()).map(|(name, _)| name).collect();
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
