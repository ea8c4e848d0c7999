//! Requires two machines to be physically separate and distinct, for N4 (rules, section 6.2.2).
//!
//! Equal identities prove a single machine, whatever their source. Different identities prove two
//! machines on bare metal only, where a board runs one kernel. Virtual machines and microVMs on one
//! host have their own boot, board and addresses, and containers may hide what they share. An
//! operator's statements prove nothing.

use netdiv_contract::v1::Machine;

use crate::{
    Finding,
    Rule::N4,
    facts::{interfaces, machines::non_empty},
};

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
pub(super) fn check_distinct(mine: &Machine, other: &Machine, node: &str) -> Option<Finding> {
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
pub(super) fn check_bare_metal(machine: &Machine) -> Option<String> {
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
