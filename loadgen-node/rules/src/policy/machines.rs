//! What the machines are, and the way between them.

use netdiv_contract::v1::{Interface, Machine, Route};

use super::choice::Choice;
use crate::{
    Finding, Outcome, Rule,
    facts::{
        fabric,
        interfaces::Interfaces as _,
        machines::{ip, said},
    },
    judge::ecc,
    result::Evidence,
};

const SEPARATE: Rule = Rule::new(4);
const FABRIC: Rule = Rule::new(5);
const LOADGEN_NODE: &str = "LoadGen node";

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

pub(super) fn check(choice: &Choice<'_>) -> Vec<Finding> {
    if choice.in_process {
        let text = "the model runs in the process of the LoadGen node; run it with sut-node, on another machine";
        return vec![
            Finding::fail(SEPARATE, "in-process", text),
            Finding::fail(Rule::new(18), "in-process", "samples go over no network"),
        ];
    }
    match choice.evidence.filter(|evidence| !evidence.nodes.is_empty()) {
        Some(evidence) => machines(evidence),
        None => {
            let text = "the nodes were not asked what their machines are; ask them for evidence";
            [SEPARATE, FABRIC].map(|rule| Finding::cannot_tell(rule, "evidence", text)).into()
        }
    }
}

/// What the evidence says against the machines and the ways between them: one machine at both ends (N4), no permitted
/// fabric (N5), ECC that is off (N29). Of the first two also what it does not say.
pub fn machines(evidence: &Evidence) -> Vec<Finding> {
    let mine = &evidence.loadgen_node;
    let mut findings = Vec::new();
    for (name, machine) in &evidence.nodes {
        findings.extend(separate(mine, machine, name));
    }
    if mine.routes.is_empty() {
        let text = "its evidence names no route to a node; run again with a loadgen-node that records its routes";
        findings.push(Finding::cannot_tell(FABRIC, LOADGEN_NODE, text));
    }
    let nodes = evidence.nodes.iter().map(|(name, machine)| (name.as_str(), machine));
    for (name, machine) in [(LOADGEN_NODE, mine)].into_iter().chain(nodes) {
        findings.extend(ways(machine, name));
        findings.extend(virtual_machine(machine, name));
        let memories = ecc::memories(machine, name).into_iter();
        findings.extend(memories.filter(|finding| finding.outcome == Outcome::Fail));
    }
    findings
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
        return Some(Finding::fail(SEPARATE, node, text));
    }
    (!compared).then(|| {
        let text = "nothing that tells machines apart is known of both; let both programs read boot id and machine id, or \
                    state the board's serial number in their evidence files";
        Finding::cannot_tell(SEPARATE, node, text)
    })
}

/// The start of a text: enough of a digest to recognize it by.
fn start(text: &str) -> String {
    text.chars().take(8).collect::<String>() + "…"
}

/// What is wrong with the ways from a machine to its peers.
fn ways(machine: &Machine, name: &str) -> Vec<Finding> {
    machine.routes.iter().flat_map(|route| way(machine, route, name)).collect()
}

fn way(machine: &Machine, route: &Route, name: &str) -> Vec<Finding> {
    let place = format!("{name} to {}", route.peer);
    let (peer, local) = (ip(&route.peer), said(&route.local_address).and_then(ip));
    let at_home = [peer, local].into_iter().flatten().any(|address| address.is_loopback());
    if at_home || peer.is_some() && peer == local || is_loopback(route.interface.as_deref()) {
        let here = "both ends are on this machine; run them on machines of their own, and name the other's address";
        let there =
            "the loopback interface is no fabric; take the way over Ethernet, Wi-Fi or InfiniBand";
        return vec![Finding::fail(SEPARATE, &place, here), Finding::fail(FABRIC, place, there)];
    }
    let Some(used) = said(&route.interface) else {
        let text = "the interface is not known; name the peer by an address that this machine has a route to, and let the \
                    program run in the network namespace of the host";
        return vec![Finding::cannot_tell(FABRIC, place, text)];
    };
    let Some(interface) = machine.interface(used) else {
        let text = format!(
            "nothing is known of the interface {used}; let the program read /sys/class/net of the host"
        );
        return vec![Finding::cannot_tell(FABRIC, place, text)];
    };
    fabric(machine, interface, place).into_iter().collect()
}

fn fabric(machine: &Machine, interface: &Interface, place: String) -> Option<Finding> {
    let Interface { name, kind, .. } = interface;
    let is_stated = machine.supplied.contains(&format!("interfaces.{name}.kind"));
    match kind.as_str() {
        kind if fabric::of_kind(kind).is_some() && is_stated => {
            let text = format!(
                "the kind of {name}, {kind}, was stated, not measured; the documentation has to show what carries it"
            );
            Some(Finding::cannot_tell(FABRIC, place, text))
        }
        kind if fabric::of_kind(kind).is_some() => None,
        "virtual" => {
            let text = format!(
                "{name} is a virtual interface; use the address of a physical one. Where it is a bond or a VLAN of one, state \
                 the kind of {name} in the evidence file"
            );
            Some(Finding::fail(FABRIC, place, text))
        }
        kind => {
            let text = format!(
                "{name} is of the kind `{kind}`; permitted are Ethernet, IEEE 802.11, InfiniBand and 3GPP, and others when \
                 the Working Group has agreed"
            );
            Some(Finding::cannot_tell(FABRIC, place, text))
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
        Finding::cannot_tell(SEPARATE, name, text)
    })
}
