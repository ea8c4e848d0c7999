//! Names and addresses in a record belong together: of N4 the nodes and the LoadGen node's routes, of N15 the SUT's name, of N18 the
//! interfaces that were counted, of N20 the machines, of N22 the interfaces of each.

use std::collections::{BTreeMap, BTreeSet};

use netdiv_contract::v1::Machine;

use super::{checked_folder::Subject, findings::Findings};
use crate::{
    Rule::{self, N4, N15, N18, N20, N22},
    facts::machines::ip,
    result::{Carrier, Evidence, RunResult},
};

/// Default name of a cluster.
const UNNAMED: &str = "netdiv";

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        if matches!(record.transport, Carrier::Process(_)) {
            continue;
        }
        let mut wrong: Vec<_> = other_name(record).into_iter().chain(not_given(record)).collect();
        if let Some(evidence) = &record.evidence {
            wrong.extend(strangers(record, evidence));
            wrong.extend(uncounted(record, evidence));
            wrong.extend(evidence.machines().flat_map(|(name, machine)| interfaces(name, machine)));
            wrong.extend(evidence.machines().flat_map(|(name, machine)| supplied(name, machine)));
            if let Some(text) = translated(evidence) {
                found.unknown(N4, &run.record_place, text);
            }
        }
        for (rule, text) in wrong {
            let text = format!("{text}: take the record as the run wrote it");
            found.fail(rule, &run.record_place, text);
        }
    }
}

/// `Name()` puts the cluster's name and those of its nodes together.
fn other_name(record: &RunResult) -> Option<(Rule, String)> {
    let said = record.sut_name.as_deref()?;
    if record.settings.is_empty() {
        return None;
    }
    let cluster = record.settings.get("cluster_name").and_then(|name| name.as_str());
    // `names.rs` compares the nodes' names.
    let start = format!("{} Network SUT [", cluster.unwrap_or(UNNAMED));
    (!said.starts_with(&start)).then(|| {
        (
            N15,
            format!(
                "sut_name is `{said}`, and by the settings of the run it begins with `{start}`"
            ),
        )
    })
}

/// A node that the run was not given.
fn not_given(record: &RunResult) -> Option<(Rule, String)> {
    let given = record.settings.get("nodes")?.as_array()?;
    let given: BTreeSet<_> = given.iter().filter_map(|node| Some(node.as_str()?.trim())).collect();
    // Names, ranges and files stand for several addresses.
    let is_address = |text: &&str| text.parse::<std::net::SocketAddr>().is_ok();
    if !given.iter().all(is_address) {
        return None;
    }
    let stranger = record.nodes.iter().find(|node| !given.contains(node.address.as_str()))?;
    let (name, address) = (&stranger.name, &stranger.address);
    Some((N4, format!("node {name} was at {address}, which the run was not given")))
}

/// Routes to what is no node, and machines that are none.
fn strangers(record: &RunResult, evidence: &Evidence) -> Vec<(Rule, String)> {
    let is_its = |address: &str, peer: &str| {
        address == peer || ip(peer).is_some_and(|peer| ip(address) == Some(peer))
    };
    let mut wrong = Vec::new();
    for route in &evidence.loadgen_node.routes {
        if !record.nodes.iter().any(|node| is_its(&node.address, &route.peer)) {
            let text = format!(
                "the LoadGen node had a route to {}, which is no node of the run",
                route.peer
            );
            wrong.push((N4, text));
        }
    }
    let is_node = |name: &String| record.nodes.iter().any(|node| node.name == *name);
    for name in evidence.nodes.keys().filter(|name| !is_node(name)) {
        wrong.push((N20, format!("there is evidence of {name}, which is no node of the run")));
    }
    wrong
}

/// Interfaces that were counted, and lead to no node.
fn uncounted(record: &RunResult, evidence: &Evidence) -> Option<(Rule, String)> {
    let routes = &evidence.loadgen_node.routes;
    let used: BTreeSet<_> = routes.iter().filter_map(|route| route.interface.as_deref()).collect();
    let counted = || record.interfaces.iter().map(|interface| interface.name.as_str());
    let stranger = counted().find(|name| !used.is_empty() && !used.contains(name));
    if let Some(name) = stranger {
        return Some((
            N18,
            format!("the traffic of {name} was counted, and no route leads over it"),
        ));
    }
    let names: BTreeSet<_> = counted().collect();
    (names.len() < record.interfaces.len())
        .then(|| (N18, "the traffic of one interface was counted twice".into()))
}

/// Each interface of a machine has a name of its own, and stands on interfaces of that machine.
fn interfaces(who: &str, machine: &Machine) -> Vec<(Rule, String)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for interface in &machine.interfaces {
        *counts.entry(interface.name.as_str()).or_default() += 1;
    }
    let twice = counts
        .iter()
        .filter(|(_, count)| **count > 1)
        .map(|(name, _)| (N22, format!("{who} has two interfaces named {name}")));
    let mut wrong: Vec<_> = twice.collect();
    for interface in &machine.interfaces {
        for below in interface.over.iter().filter(|below| !counts.contains_key(below.as_str())) {
            let name = &interface.name;
            wrong.push((N22, format!("{name} of {who} stands on {below}, which it does not have")));
        }
    }
    wrong
}

/// Fields that a file stated, and that no machine has.
fn supplied(who: &str, machine: &Machine) -> Vec<(Rule, String)> {
    let fields = serde_json::to_value(machine).unwrap_or_default();
    let has = |path: &str| match path.split_once('.') {
        None => fields.get(path).is_some(),
        Some((list, rest)) => {
            let items = fields.get(list).and_then(|list| list.as_array()).into_iter().flatten();
            let mut names = items.filter_map(|item| item.get("name")?.as_str());
            names.any(|name| rest.strip_prefix(name).is_some_and(|field| field.starts_with('.')))
        }
    };
    let strangers = machine.supplied.iter().filter(|path| !has(path));
    let text =
        |path| format!("{who} was stated to have a `{path}`, and a machine has no such field");
    strangers.map(|path| (N20, text(path))).collect()
}

/// A node that reached the LoadGen node at an address which that does not have.
fn translated(evidence: &Evidence) -> Option<String> {
    let routes = &evidence.loadgen_node.routes;
    let own: BTreeSet<_> =
        routes.iter().filter_map(|route| ip(route.local_address.as_ref()?)).collect();
    let is_own = |peer: &str| own.is_empty() || ip(peer).is_some_and(|peer| own.contains(&peer));
    let mut peers = evidence
        .nodes
        .iter()
        .flat_map(|(name, machine)| machine.routes.iter().map(move |route| (name, &route.peer)));
    let (name, peer) = peers.find(|(_, peer)| !is_own(peer))?;
    Some(format!(
        "node {name} saw the LoadGen node at {peer}, which the LoadGen node does not have: something between them translates addresses; say \
         in the documentation what it is"
    ))
}
