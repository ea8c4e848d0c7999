//! N4 and N5: the machines at both ends are separate, and the ways between them are over a permitted fabric (rules, section
//! 6.2.2).

use netdiv_contract::v1::{Interface, Machine, Route};

use crate::{
    Finding,
    Rule::{N4, N5},
    facts::{
        fabric,
        interfaces::Interfaces as _,
        machines::{ip, said},
    },
    result::Evidence,
};

/// The LoadGen node in a finding about its machine.
pub(crate) const LOADGEN_NODE: &str = "LoadGen node";

/// Words in the product's name of a virtual machine.
const VIRTUAL: [&str; 8] = [
    "KVM",
    "QEMU",
    "VMware",
    "VirtualBox",
    "Virtual Machine",
    "HVM domU",
    "Standard PC (",
    "OpenStack",
];

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
    let separate = nodes().filter_map(|(name, machine)| separate(mine, machine, name));
    let mut all: Vec<_> = separate.map(of_machine).collect();
    if mine.routes.is_empty() {
        let text = "its evidence names no route to a node; run again with a loadgen-node that records its routes";
        all.push(of_machine(Finding::cannot_tell(N5, LOADGEN_NODE, text)));
    }
    for (name, machine) in [(LOADGEN_NODE, mine)].into_iter().chain(nodes()) {
        for route in &machine.routes {
            let of_way = |finding| OfMachine { finding, peer: Some(route.peer.clone()) };
            all.extend(way(machine, route, name).into_iter().map(of_way));
        }
        all.extend(virtual_machine(machine, name).map(of_machine));
    }
    all
}

/// Whether a node's machine is another one than the LoadGen node's.
fn separate(mine: &Machine, other: &Machine, node: &str) -> Option<Finding> {
    let mut compared = false;
    let mut equal = Vec::new();
    let pairs = [
        ("boot id", &mine.boot_id, &other.boot_id, false),
        ("machine id", &mine.machine_id, &other.machine_id, true),
        ("board serial number", &mine.board_serial, &other.board_serial, true),
    ];
    for (what, here, there, is_digest) in pairs {
        if let (Some(here), Some(there)) = (said(here), said(there)) {
            compared = true;
            if here.eq_ignore_ascii_case(there) {
                let here = if is_digest { start(here) } else { here.to_owned() };
                equal.push(format!("{what} {here}"));
            }
        }
    }
    let (here, there) = (mine.hardware_addresses(), other.hardware_addresses());
    compared |= !here.is_empty() && !there.is_empty();
    equal.extend(here.intersection(&there).map(|mac| format!("hardware address {mac}")));
    if !equal.is_empty() {
        let booted = (said(&mine.boot_id), said(&other.boot_id));
        let advice = match booted {
            (Some(here), Some(there)) if here != there => {
                "run the node on a machine of its own; where it is one, a copied installation or a container may have taken \
                 the id along: give it its own"
            }
            _ => "run the node on a machine of its own",
        };
        let text = format!("it has the same {} as the LoadGen node; {advice}", equal.join(", "));
        return Some(Finding::fail(N4, node, text));
    }
    (!compared).then(|| {
        let text = "nothing that tells machines apart is known of both; let both programs read boot id and machine id, or \
                    state the board's serial number in their evidence files";
        Finding::cannot_tell(N4, node, text)
    })
}

/// The start of a text: enough of a digest to recognize it by.
fn start(text: &str) -> String {
    text.chars().take(8).collect::<String>() + "…"
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

fn virtual_machine(machine: &Machine, name: &str) -> Option<Finding> {
    let product = said(&machine.product)?;
    let is_virtual =
        VIRTUAL.iter().any(|word| product.to_lowercase().contains(&word.to_lowercase()));
    is_virtual.then(|| {
        let text = format!(
            "{product} is a virtual machine: whether it shares a host with another is not known; use machines without \
             virtualization, or show that the hosts differ"
        );
        Finding::cannot_tell(N4, name, text)
    })
}
