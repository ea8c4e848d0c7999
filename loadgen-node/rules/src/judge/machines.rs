//! Requires separate machines at both ends and routes over a permitted fabric, for N4 and N5
//! (rules, section 6.2.2).
//!
//! Equal identities prove a single machine, whatever their source. Different identities prove two
//! machines on bare metal only, where a board runs one kernel. Virtual machines and microVMs on one
//! host have their own boot, board and addresses, and containers may hide what they share. An
//! operator's statements prove nothing.

use netdiv_contract::v1::{Interface, Machine, Route, ServingEngine};

use crate::{
    Finding,
    Rule::{N4, N5},
    facts::{
        fabric, interfaces,
        machines::{ip, non_empty},
    },
    record::Evidence,
};

/// Place of a finding about the LoadGen node's machine.
pub(crate) const LOADGEN_NODE: &str = "LoadGen node";

/// Returns the violations that the evidence about the machines and their routes shows, and the gaps
/// in that evidence. The place of each finding is the name of its machine.
pub(crate) fn check_machines(evidence: &Evidence) -> Vec<Finding> {
    let mine = &evidence.loadgen_node;
    let nodes = || evidence.nodes.iter().map(|(name, machine)| (name.as_str(), machine));
    let indistinct = nodes().filter_map(|(name, machine)| check_distinct(mine, machine, name));
    let mut all: Vec<_> = indistinct.collect();
    if mine.routes.is_empty() {
        let text = "its evidence names no route to a node; run again with a loadgen-node that records its routes";
        all.push(Finding::cannot_tell(N5, LOADGEN_NODE, text));
    }
    for (name, machine) in [(LOADGEN_NODE, mine)].into_iter().chain(nodes()) {
        for route in &machine.routes {
            all.extend(check_route(machine, route, name));
        }
        all.extend(machine.serving_engines.iter().filter_map(|engine| {
            let at_loadgen = is_at(mine, engine);
            check_serving_engine(engine, at_loadgen, name)
        }));
        all.extend(check_bare_metal(machine).map(|why| Finding::cannot_tell(N4, name, why)));
    }
    all
}

/// Returns true if an engine listens at an address that this machine uses.
fn is_at(machine: &Machine, engine: &ServingEngine) -> bool {
    let own =
        machine.routes.iter().filter_map(|route| non_empty(&route.local_address).and_then(ip));
    ip(&engine.address).is_some_and(|address| own.into_iter().any(|own| own == address))
}

/// Returns a finding if a serving engine is not on its node's machine. The engine belongs to the
/// SUT, but only nodes describe their machines.
fn check_serving_engine(engine: &ServingEngine, at_loadgen: bool, node: &str) -> Option<Finding> {
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
                "the machine of its serving engine, {address}, is unknown: this machine has no route to that address; {remedy}"
            );
            Some(Finding::cannot_tell(N4, node, text))
        }
    }
}

/// Returns the violations that the evidence about a route shows, and the gaps in that evidence.
fn check_route(machine: &Machine, route: &Route, name: &str) -> Vec<Finding> {
    let (peer, local) = (ip(&route.peer), non_empty(&route.local_address).and_then(ip));
    let at_home = [peer, local].into_iter().flatten().any(|address| address.is_loopback());
    if at_home || peer.is_some() && peer == local || is_loopback(route.interface.as_deref()) {
        let here = "both ends are on this machine; run them on separate machines, and name the other's address";
        let there = "the loopback interface is not a fabric; use a route over Ethernet, Wi-Fi or InfiniBand";
        return vec![Finding::fail(N4, name, here), Finding::fail(N5, name, there)];
    }
    let Some(used) = non_empty(&route.interface) else {
        let text = "the interface is unknown; name the peer by an address that this machine has a route to, and run the \
                    program in the network namespace of the host";
        return vec![Finding::cannot_tell(N5, name, text)];
    };
    let Some(interface) = interfaces::find(machine, used) else {
        let text = format!(
            "the interface {used} is unknown; let the program read /sys/class/net of the host"
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
                "the kind of {name}, {kind}, was stated, not measured; the documentation must show the underlying interface"
            );
            Some(Finding::cannot_tell(N5, place, text))
        }
        kind if fabric::of_kind(kind).is_some() => None,
        "virtual" => {
            let text = format!(
                "{name} is a virtual interface; use the address of a physical one. If it is a bond or a VLAN of one, state \
                 the kind of {name} in the evidence file"
            );
            Some(Finding::fail(N5, place, text))
        }
        kind => {
            let text = format!(
                "{name} has the kind `{kind}`; permitted are Ethernet, IEEE 802.11, InfiniBand, 3GPP, and others that \
                 the Working Group has approved"
            );
            Some(Finding::cannot_tell(N5, place, text))
        }
    }
}

fn is_loopback(interface: Option<&str>) -> bool {
    interface.is_some_and(|name| name == "lo" || name == "lo0")
}

/// Words in the product name of a virtual machine.
const VIRTUAL: [&str; 17] = [
    "KVM",
    "QEMU",
    "VMware",
    "VirtualBox",
    "Virtual Machine",
    "HVM domU",
    "Standard PC (",
    "OpenStack",
    "KubeVirt",
    "Firecracker",
    "Cloud Hypervisor",
    "Bochs",
    "BHYVE",
    "Parallels",
    "Apple Virtualization",
    "Amazon EC2",
    "Alibaba Cloud ECS",
];

/// Part of the product name that a cloud gives to machines without a hypervisor.
const BARE_METAL: &str = ".metal";

/// Returns a finding if a node shares the LoadGen node's machine, or if nothing distinguishes their
/// machines. Assumes that both are bare metal, which [`check_bare_metal`] judges.
fn check_distinct(mine: &Machine, other: &Machine, node: &str) -> Option<Finding> {
    let pairs = [
        ("boot id", "boot_id", &mine.boot_id, &other.boot_id),
        ("machine id", "machine_id", &mine.machine_id, &other.machine_id),
        ("board serial number", "board_serial", &mine.board_serial, &other.board_serial),
    ];
    let mut equal = Vec::new();
    let mut differ = false;
    for (what, field, here, there) in pairs {
        let (Some(here), Some(there)) = (non_empty(here), non_empty(there)) else { continue };
        // A machine id proves no difference: containers have their own, and copied installations
        // share it.
        differ |= field != "machine_id" && is_measured(mine, field) && is_measured(other, field);
        if here.eq_ignore_ascii_case(there) {
            let here = if field == "boot_id" { here.to_owned() } else { abbreviate(here) };
            equal.push(format!("{what} {here}"));
        }
    }
    let [here, there] = [mine, other].map(interfaces::hardware_addresses);
    equal.extend(here.intersection(&there).map(|mac| format!("hardware address {mac}")));
    if !equal.is_empty() {
        let booted = (non_empty(&mine.boot_id), non_empty(&other.boot_id));
        let advice = match booted {
            (Some(here), Some(there)) if here != there => {
                "run the node on a separate machine; if it is one already, a copied installation or a container may have \
                 duplicated the id: give it a new one"
            }
            _ => "run the node on a separate machine",
        };
        let text = format!("it has the same {} as the LoadGen node; {advice}", equal.join(", "));
        return Some(Finding::fail(N4, node, text));
    }
    (!differ).then(|| {
        let text = "no measurement at both ends distinguishes it from the LoadGen node: let both programs read \
                    /proc/sys/kernel/random/boot_id of the host; statements prove nothing";
        Finding::cannot_tell(N4, node, text)
    })
}

/// Returns the reason why a machine is or may be virtual, and so may share its host with others.
fn check_bare_metal(machine: &Machine) -> Option<String> {
    let product = non_empty(&machine.product);
    let is_virtual = machine.virtual_machine.filter(|_| is_measured(machine, "virtual_machine"));
    if is_virtual == Some(true) || product.is_some_and(names_a_virtual_machine) {
        return Some(format!(
            "{} is a virtual machine, which may share a host with another: use machines without \
             virtualization, or show that the hosts differ",
            product.unwrap_or("it")
        ));
    }
    if is_virtual.is_none() {
        let text = "it may be a virtual machine: run a program of this release there that can read \
                    /proc/cpuinfo, on Arm as root";
        return Some(text.into());
    }
    let known = product.is_some() && is_measured(machine, "product");
    (!known).then(|| {
        "its product was not measured, so it may share its host: let the program read /sys/class/dmi/id of the host"
            .into()
    })
}

fn names_a_virtual_machine(product: &str) -> bool {
    let product = product.to_lowercase();
    let is_virtual = VIRTUAL.iter().any(|word| product.contains(&word.to_lowercase()));
    is_virtual && !product.contains(BARE_METAL)
}

/// Returns true if the machine's program measured the field; false if the operator stated it in the
/// evidence file.
fn is_measured(machine: &Machine, field: &str) -> bool {
    !machine.supplied.iter().any(|stated| stated == field)
}

/// Returns the beginning of a text, enough to recognize a digest.
fn abbreviate(text: &str) -> String {
    text.chars().take(8).collect::<String>() + "…"
}
