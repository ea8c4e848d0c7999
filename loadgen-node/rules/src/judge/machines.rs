//! N4 and N5: the machines at both ends are separate (`distinct.rs`), and the ways between them are over a permitted fabric
//! (rules, section 6.2.2).

use netdiv_contract::v1::{Interface, Machine, Route, ServingEngine};

use super::distinct::{not_bare_metal, not_distinct};
use crate::{
    Finding,
    Rule::{N4, N5},
    facts::{
        fabric,
        interfaces::Interfaces as _,
        machines::{ip, said},
    },
    record::Evidence,
};

/// The LoadGen node in a finding about its machine.
pub(crate) const LOADGEN_NODE: &str = "LoadGen node";

/// What stands against a machine, or against its way to a peer.
pub(crate) struct OfMachine {
    /// Its place is the name of the machine.
    pub(crate) finding: Finding,
    /// The peer, where it is about a way.
    pub(crate) peer: Option<String>,
}

/// What the evidence says against the machines and the ways between them, and what it does not say.
pub(crate) fn between(evidence: &Evidence) -> Vec<OfMachine> {
    let mine = &evidence.loadgen_node;
    let of_machine = |finding| OfMachine { finding, peer: None };
    let nodes = || evidence.nodes.iter().map(|(name, machine)| (name.as_str(), machine));
    let indistinct = nodes().filter_map(|(name, machine)| not_distinct(mine, machine, name));
    let mut all: Vec<_> = indistinct.map(of_machine).collect();
    if mine.routes.is_empty() {
        let text = "its evidence names no route to a node; run again with a loadgen-node that records its routes";
        all.push(of_machine(Finding::cannot_tell(N5, LOADGEN_NODE, text)));
    }
    for (name, machine) in [(LOADGEN_NODE, mine)].into_iter().chain(nodes()) {
        for route in &machine.routes {
            let of_way = |finding| OfMachine { finding, peer: Some(route.peer.clone()) };
            all.extend(way(machine, route, name).into_iter().map(of_way));
        }
        all.extend(machine.serving_engines.iter().filter_map(|engine| {
            let at_loadgen = is_at(mine, engine);
            elsewhere(engine, at_loadgen, name).map(of_machine)
        }));
        let unclear = not_bare_metal(machine).map(|why| Finding::cannot_tell(N4, name, why));
        all.extend(unclear.map(of_machine));
    }
    all
}

/// Whether an engine listens at an address that this machine uses.
fn is_at(machine: &Machine, engine: &ServingEngine) -> bool {
    let own = machine.routes.iter().filter_map(|route| said(&route.local_address).and_then(ip));
    ip(&engine.address).is_some_and(|address| own.into_iter().any(|own| own == address))
}

/// What is against the machine of a serving engine: it is a part of the SUT, and only its nodes describe themselves.
fn elsewhere(engine: &ServingEngine, at_loadgen: bool, node: &str) -> Option<Finding> {
    let address = &engine.address;
    let remedy = "run the node on the machine of its engine";
    match engine.here {
        Some(true) => None,
        Some(false) if at_loadgen => {
            let text = format!("its serving engine, {address}, is at the LoadGen node; {remedy}");
            Some(Finding::fail(N4, node, text))
        }
        Some(false) => {
            let way = engine.interface.as_ref().map(|name| format!(", over {name}"));
            let text = format!(
                "its serving engine, {address}{}, is on another machine, which belongs to the SUT and does not describe itself; \
                 {remedy}",
                way.unwrap_or_default()
            );
            Some(Finding::cannot_tell(N4, node, text))
        }
        None => {
            let text = format!(
                "where its serving engine, {address}, is cannot be told: this machine has no way to that address; {remedy}"
            );
            Some(Finding::cannot_tell(N4, node, text))
        }
    }
}

/// What is wrong with the way of a route.
fn way(machine: &Machine, route: &Route, name: &str) -> Vec<Finding> {
    let (peer, local) = (ip(&route.peer), said(&route.local_address).and_then(ip));
    let at_home = [peer, local].into_iter().flatten().any(|address| address.is_loopback());
    if at_home || peer.is_some() && peer == local || is_loopback(route.interface.as_deref()) {
        let here = "both ends are on this machine; run them on machines of their own, and name the other's address";
        let there =
            "the loopback interface is no fabric; take the way over Ethernet, Wi-Fi or InfiniBand";
        return vec![Finding::fail(N4, name, here), Finding::fail(N5, name, there)];
    }
    let Some(used) = said(&route.interface) else {
        let text = "the interface is not known; name the peer by an address that this machine has a route to, and let the \
                    program run in the network namespace of the host";
        return vec![Finding::cannot_tell(N5, name, text)];
    };
    let Some(interface) = machine.interface(used) else {
        let text = format!(
            "nothing is known of the interface {used}; let the program read /sys/class/net of the host"
        );
        return vec![Finding::cannot_tell(N5, name, text)];
    };
    fabric(machine, interface, name).into_iter().collect()
}

fn fabric(machine: &Machine, interface: &Interface, place: &str) -> Option<Finding> {
    let Interface { name, kind, .. } = interface;
    let is_stated = machine.supplied.contains(&format!("interfaces.{name}.kind"));
    match kind.as_str() {
        kind if fabric::of_kind(kind).is_some() && is_stated => {
            let text = format!(
                "the kind of {name}, {kind}, was stated, not measured; the documentation has to show what carries it"
            );
            Some(Finding::cannot_tell(N5, place, text))
        }
        kind if fabric::of_kind(kind).is_some() => None,
        "virtual" => {
            let text = format!(
                "{name} is a virtual interface; use the address of a physical one. Where it is a bond or a VLAN of one, state \
                 the kind of {name} in the evidence file"
            );
            Some(Finding::fail(N5, place, text))
        }
        kind => {
            let text = format!(
                "{name} is of the kind `{kind}`; permitted are Ethernet, IEEE 802.11, InfiniBand and 3GPP, and others when \
                 the Working Group has agreed"
            );
            Some(Finding::cannot_tell(N5, place, text))
        }
    }
}

fn is_loopback(interface: Option<&str>) -> bool {
    interface.is_some_and(|name| name == "lo" || name == "lo0")
}
