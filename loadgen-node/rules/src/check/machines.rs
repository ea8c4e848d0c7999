//! What the machines of a run said of themselves.

use std::net::{IpAddr, SocketAddr};

use netdiv_proto::v1::{Interface, Machine, Route};

use super::{findings::Findings, subject::Subject};
use crate::{
    Rule,
    result::{Evidence, RunResult},
};

/// A run whose machines are known.
pub(super) struct Seen<'a> {
    /// Where its record is.
    pub(super) place: &'a str,
    pub(super) record: &'a RunResult,
    pub(super) evidence: &'a Evidence,
}

impl<'a> Seen<'a> {
    /// The LoadGen node, then the nodes by name; each with words for it.
    pub(super) fn machines(&self) -> Vec<(String, &'a Machine)> {
        let nodes = self.evidence.nodes.iter();
        let nodes = nodes.map(|(name, machine)| (format!("node {name}"), machine));
        std::iter::once(("the LoadGen node".to_owned(), &self.evidence.loadgen_node))
            .chain(nodes)
            .collect()
    }
}

/// All runs with evidence; for the others, and for nodes that said nothing, the rule cannot be told.
pub(super) fn seen<'a>(subject: &'a Subject, rule: Rule, found: &mut Findings) -> Vec<Seen<'a>> {
    let mut all = Vec::new();
    for (_, run) in subject.runs() {
        let place = &run.record_place;
        match run.result().map(|record| (record, &record.evidence)) {
            Some((record, Some(evidence))) => all.push(Seen { place, record, evidence }),
            Some((_, None)) => {
                let text = "the run did not ask the machines what they are: run again with a \
                            loadgen-node and nodes that do";
                found.unknown(rule, place, text);
            }
            None => found.unknown(rule, place, NO_RECORD),
        }
    }
    for seen in &all {
        for node in &seen.record.nodes {
            if !seen.evidence.nodes.contains_key(&node.name) {
                let text = format!("node {} said nothing of its machine", node.name);
                found.unknown(rule, seen.place, text);
            }
        }
    }
    all
}

/// Why much cannot be told of a run.
pub(super) const NO_RECORD: &str =
    "the record of the run cannot be read: keep the result.json that loadgen-node writes";

/// The interfaces that lead from a machine to its peers.
#[derive(Default)]
pub(super) struct Carriers<'a> {
    /// Each once.
    pub(super) used: Vec<&'a Interface>,
    /// Routes whose interface is not among those that were seen.
    pub(super) unknown: Vec<&'a Route>,
}

/// Finds them.
pub(super) fn carriers(machine: &Machine) -> Carriers<'_> {
    let mut carriers = Carriers::default();
    for route in &machine.routes {
        let interface = route.interface.as_ref().and_then(|name| named(machine, name));
        match interface {
            Some(one) if carriers.used.iter().any(|used| used.name == one.name) => {}
            Some(interface) => carriers.used.push(interface),
            None => carriers.unknown.push(route),
        }
    }
    carriers
}

fn named<'a>(machine: &'a Machine, name: &str) -> Option<&'a Interface> {
    machine.interfaces.iter().find(|interface| interface.name == name)
}

/// The adapters behind an interface: what a bond or a VLAN stands on in the end, or itself.
pub(super) fn adapters<'a>(machine: &'a Machine, interface: &'a Interface) -> Vec<&'a Interface> {
    let (mut waiting, mut passed, mut found) = (vec![interface], Vec::new(), Vec::new());
    while let Some(interface) = waiting.pop() {
        if passed.contains(&&interface.name) {
            continue;
        }
        passed.push(&interface.name);
        let below: Vec<_> = interface.over.iter().filter_map(|name| named(machine, name)).collect();
        if below.is_empty() { found.push(interface) } else { waiting.extend(below) }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// What all the machine's ways to its peers can carry together, in bits per second; none where one of them is unknown.
pub(super) fn bits_per_second(machine: &Machine) -> Option<f64> {
    let carriers = carriers(machine);
    if carriers.used.is_empty() || !carriers.unknown.is_empty() {
        return None;
    }
    let speed = |interface: &&Interface| Some(interface.speed_mbit_per_second? as f64 * 1e6);
    carriers.used.iter().map(speed).sum()
}

/// What a submission must say, and what a run may still be told.
pub(super) fn lacking(
    subject: &Subject,
    rule: Rule,
    place: &str,
    text: String,
    found: &mut Findings,
) {
    let text = format!("{text}: state it in the machine's evidence file and run again");
    match subject.tree {
        Some(_) => found.fail(rule, place, text),
        None => found.unknown(rule, place, text),
    }
}

/// Whether something is written there.
pub(super) fn is_said(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.trim().is_empty())
}

/// The address in `HOST:PORT`, or in an address alone.
pub(super) fn ip(address: &str) -> Option<IpAddr> {
    let with_port = address.parse().map(|socket: SocketAddr| socket.ip());
    with_port.or_else(|_| address.trim_matches(['[', ']']).parse()).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn interface(name: &str, speed: Option<u64>, over: &[&str]) -> Interface {
        Interface {
            name: name.into(),
            speed_mbit_per_second: speed,
            over: over.iter().map(|name| (*name).into()).collect(),
            ..Interface::default()
        }
    }

    fn route(interface: &str) -> Route {
        Route { interface: Some(interface.into()), ..Route::default() }
    }

    #[test]
    fn an_interface_counts_once_and_a_bond_stands_on_adapters() {
        let mut machine = Machine {
            interfaces: vec![
                interface("vlan7", Some(50_000), &["bond0"]),
                interface("bond0", Some(50_000), &["eth0", "eth1", "vlan7"]),
                interface("eth0", Some(25_000), &[]),
                interface("eth1", Some(25_000), &[]),
            ],
            routes: vec![route("vlan7"), route("vlan7")],
            ..Machine::default()
        };
        assert_eq!(carriers(&machine).used.len(), 1);
        assert_eq!(bits_per_second(&machine), Some(50e9));
        let names: Vec<_> =
            adapters(&machine, &machine.interfaces[0]).iter().map(|i| i.name.clone()).collect();
        assert_eq!(names, ["eth0", "eth1"]);
        machine.routes.push(route("lo"));
        assert_eq!(carriers(&machine).unknown.len(), 1);
        assert_eq!(bits_per_second(&machine), None);
    }

    #[test]
    fn addresses_are_read_with_and_without_a_port() {
        for text in ["10.0.0.1:5", "10.0.0.1", "[::1]:5", "::1", "[::1]"] {
            assert!(ip(text).is_some(), "{text}");
        }
        assert_eq!(ip("rack1-a:50051"), None);
    }
}
