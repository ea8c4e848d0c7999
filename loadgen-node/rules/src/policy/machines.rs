//! What the machines are, and the way between them.

use std::{collections::BTreeSet, net::IpAddr};

use netdiv_proto::v1::{Interface, Machine, Route};

use super::Choice;
use crate::{Finding, Rule, result::Evidence};

const SEPARATE: Rule = Rule::new(4);
const FABRIC: Rule = Rule::new(5);
const LOADGEN_NODE: &str = "LoadGen node";

/// Kinds of interfaces that are permitted fabrics (rules, section 6.2.2). 3GPP has no kind of its own.
const FABRICS: [&str; 3] = ["ethernet", "wifi", "infiniband"];

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
        findings.extend(ecc(machine, name));
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
        if let (Some(here), Some(there)) = (known(here), known(there)) {
            compared = true;
            if here.eq_ignore_ascii_case(there) {
                let here = if is_digest { start(here) } else { here.to_owned() };
                equal.push(format!("{what} {here}"));
            }
        }
    }
    let (here, there) = (macs(mine), macs(other));
    compared |= !here.is_empty() && !there.is_empty();
    equal.extend(here.intersection(&there).map(|mac| format!("hardware address {mac}")));
    if !equal.is_empty() {
        let booted = (known(&mine.boot_id), known(&other.boot_id));
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

fn known(text: &Option<String>) -> Option<&str> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

/// The start of a text: enough of a digest to recognize it by.
fn start(text: &str) -> String {
    text.chars().take(8).collect::<String>() + "…"
}

/// Hardware addresses of the interfaces on routes. Virtual ones of different machines may have the same, and so may the
/// management interfaces of one model.
fn macs(machine: &Machine) -> BTreeSet<String> {
    let is_used = |interface: &&Interface| {
        let carries = |route: &Route| {
            let used = route.interface.as_deref();
            let bond = machine.interfaces.iter().find(|bond| Some(bond.name.as_str()) == used);
            let below = bond.is_some_and(|bond| bond.over.contains(&interface.name));
            used == Some(interface.name.as_str()) || below
        };
        machine.routes.iter().any(carries)
    };
    let physical = machine.interfaces.iter().filter(|interface| interface.kind != "virtual");
    let macs = physical.filter(is_used).filter_map(|interface| known(&interface.mac));
    let macs = macs.map(str::to_lowercase);
    macs.filter(|mac| mac.contains(|c: char| c.is_alphanumeric() && c != '0')).collect()
}

/// What is wrong with the ways from a machine to its peers.
fn ways(machine: &Machine, name: &str) -> Vec<Finding> {
    machine.routes.iter().flat_map(|route| way(machine, route, name)).collect()
}

fn way(machine: &Machine, route: &Route, name: &str) -> Vec<Finding> {
    let place = format!("{name} to {}", route.peer);
    let (peer, local) = (address(&route.peer), known(&route.local_address).and_then(address));
    let at_home = [peer, local].into_iter().flatten().any(|address| address.is_loopback());
    if at_home || peer.is_some() && peer == local || is_loopback(route.interface.as_deref()) {
        let here = "both ends are on this machine; run them on machines of their own, and name the other's address";
        let there =
            "the loopback interface is no fabric; take the way over Ethernet, Wi-Fi or InfiniBand";
        return vec![Finding::fail(SEPARATE, &place, here), Finding::fail(FABRIC, place, there)];
    }
    let Some(used) = known(&route.interface) else {
        let text = "the interface is not known; name the peer by an address that this machine has a route to, and let the \
                    program run in the network namespace of the host";
        return vec![Finding::cannot_tell(FABRIC, place, text)];
    };
    let Some(interface) = machine.interfaces.iter().find(|interface| interface.name == used) else {
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
        kind if FABRICS.contains(&kind) && is_stated => {
            let text = format!(
                "the kind of {name}, {kind}, was stated, not measured; the documentation has to show what carries it"
            );
            Some(Finding::cannot_tell(FABRIC, place, text))
        }
        kind if FABRICS.contains(&kind) => None,
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

/// The address in `10.0.0.2`, `10.0.0.2:50051`, `fe80::1%eth0` or `[::1]:50051`; none in a host's name.
fn address(text: &str) -> Option<IpAddr> {
    let host = match text.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None if text.matches(':').count() == 1 => text.split(':').next()?,
        None => text,
    };
    if host.eq_ignore_ascii_case("localhost") {
        return Some(IpAddr::from([127, 0, 0, 1]));
    }
    let address: IpAddr = host.split('%').next()?.parse().ok()?;
    Some(address.to_canonical())
}

fn virtual_machine(machine: &Machine, name: &str) -> Option<Finding> {
    let product = known(&machine.product)?;
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

/// ECC that is known to be off (rules, section 4.1.1).
fn ecc(machine: &Machine, name: &str) -> Vec<Finding> {
    let off = "it does not correct errors; switch ECC on, in all runs";
    let memory = (machine.memory_ecc == Some(false)).then(|| format!("its main memory: {off}"));
    let accelerators =
        machine.accelerators.iter().filter(|accelerator| accelerator.ecc == Some(false));
    let texts =
        memory.into_iter().chain(accelerators.map(|a| format!("memory of its {}: {off}", a.name)));
    texts.map(|text| Finding::fail(Rule::new(29), name, text)).collect()
}
