//! A machine's network interfaces as a graph: a VLAN, bond or bridge has underlying interfaces,
//! down to the adapters.

use std::collections::{BTreeMap, BTreeSet};

use netdiv_contract::v1::{Interface, Machine, Route};

/// Interfaces by name; `None` if the evidence names an interface without describing it.
pub(crate) type ByName<'a> = BTreeMap<&'a str, Option<&'a Interface>>;

/// Interfaces on the routes from a machine to its peers.
#[derive(Default)]
pub(crate) struct Carriers<'a> {
    /// Described interfaces, each once.
    pub(crate) used: Vec<&'a Interface>,
    /// Routes whose interface the evidence does not describe.
    pub(crate) unknown: Vec<&'a Route>,
}

/// Finds an interface of a machine by name.
pub(crate) fn find<'a>(machine: &'a Machine, name: &str) -> Option<&'a Interface> {
    machine.interfaces.iter().find(|interface| interface.name == name)
}

/// Returns the interfaces that carry the machine's routes.
pub(crate) fn carriers(machine: &Machine) -> Carriers<'_> {
    let mut carriers = Carriers::default();
    for route in &machine.routes {
        let interface = route.interface.as_ref().and_then(|name| find(machine, name));
        match interface {
            Some(one) if carriers.used.iter().any(|used| used.name == one.name) => {}
            Some(interface) => carriers.used.push(interface),
            None => carriers.unknown.push(route),
        }
    }
    carriers
}

/// Returns an interface and all its underlying interfaces, at any depth.
fn underlying<'a>(machine: &'a Machine, name: &'a str) -> ByName<'a> {
    let mut found = ByName::new();
    let mut waiting = vec![name];
    while let Some(name) = waiting.pop() {
        if found.contains_key(name) {
            continue;
        }
        let interface = find(machine, name);
        found.insert(name, interface);
        let below = interface.into_iter().flat_map(|interface| &interface.over);
        waiting.extend(below.map(String::as_str));
    }
    found
}

/// Returns the physical adapters underlying an interface; if it has none, the interface itself.
pub(crate) fn adapters<'a>(machine: &'a Machine, name: &'a str) -> ByName<'a> {
    let mut found = underlying(machine, name);
    found.retain(|_, interface| interface.is_none_or(|interface| interface.over.is_empty()));
    found
}

/// Returns the physical adapters underlying all routes. A cable can be connected to each of them.
pub(crate) fn adapters_in_use(machine: &Machine) -> ByName<'_> {
    let names = machine.routes.iter().filter_map(|route| route.interface.as_deref());
    names.flat_map(|name| adapters(machine, name)).collect()
}

/// Returns the hardware addresses of the non-virtual interfaces underlying the routes, at any
/// depth, in lower case.
pub(crate) fn hardware_addresses(machine: &Machine) -> BTreeSet<String> {
    let names = machine.routes.iter().filter_map(|route| route.interface.as_deref());
    let used: ByName<'_> = names.flat_map(|name| underlying(machine, name)).collect();
    let physical = used.into_values().flatten().filter(|interface| interface.kind != "virtual");
    let addresses = physical.filter_map(|interface| interface.mac.as_deref());
    let addresses = addresses.map(|mac| mac.trim().to_lowercase());
    // An address of zeros is invalid.
    addresses.filter(|mac| mac.contains(|c: char| c.is_alphanumeric() && c != '0')).collect()
}

/// Returns the total capacity of the routes' interfaces in each direction, in bits per second;
/// `None` if the capacity of an interface is unknown.
pub(crate) fn bits_per_second(machine: &Machine) -> Option<f64> {
    let carriers = carriers(machine);
    if carriers.used.is_empty() || !carriers.unknown.is_empty() {
        return None;
    }
    let of_group = |group: Group<'_>| {
        let own = group.carriers.iter().map(|carrier| speed(machine, carrier, &mut Vec::new()));
        let below = group.adapters.values().map(|adapter| bits(*adapter));
        min_known(own.sum(), below.sum())
    };
    groups(machine, &carriers.used).into_iter().map(of_group).sum()
}

/// Group of carriers that share adapters. For example, two VLANs of one adapter carry no more than
/// the adapter.
struct Group<'a> {
    carriers: Vec<&'a Interface>,
    adapters: ByName<'a>,
}

fn groups<'a>(machine: &'a Machine, carriers: &[&'a Interface]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for carrier in carriers {
        let adapters = adapters(machine, &carrier.name);
        let mut group = Group { carriers: vec![carrier], adapters };
        for other in std::mem::take(&mut groups) {
            if other.adapters.keys().any(|name| group.adapters.contains_key(name)) {
                group.carriers.extend(other.carriers);
                group.adapters.extend(other.adapters);
            } else {
                groups.push(other);
            }
        }
        groups.push(group);
    }
    groups
}

/// Returns the lower of an interface's own speed and the total speed of its underlying interfaces,
/// in bits per second: in a bond only one adapter may be active. `above` are the names of the
/// interfaces that this one underlies, so that a cycle ends.
fn speed<'a>(
    machine: &'a Machine,
    interface: &'a Interface,
    above: &mut Vec<&'a str>,
) -> Option<f64> {
    above.push(&interface.name);
    let below: Vec<_> =
        interface.over.iter().filter(|name| !above.contains(&name.as_str())).collect();
    let sum: Option<f64> =
        below.iter().map(|name| speed(machine, find(machine, name)?, above)).sum();
    above.pop();
    let sum = if below.is_empty() { None } else { sum };
    min_known(bits(Some(interface)), sum)
}

fn bits(interface: Option<&Interface>) -> Option<f64> {
    Some(interface?.speed_mbit_per_second? as f64 * 1e6)
}

/// Returns the minimum of the known values.
fn min_known(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, speed: Option<u64>, over: &[&str]) -> Interface {
        Interface {
            name: name.into(),
            kind: if over.is_empty() { "ethernet" } else { "virtual" }.into(),
            mac: Some(format!("02:00:00:00:00:{:02X}", name.len())),
            speed_mbit_per_second: speed,
            over: over.iter().map(|name| (*name).into()).collect(),
            ..Interface::default()
        }
    }

    /// Returns a machine with a VLAN on a bond of two adapters, and two VLANs on another adapter.
    fn machine(routes: &[&str]) -> Machine {
        let route = |name: &&str| Route { interface: Some((*name).into()), ..Route::default() };
        Machine {
            interfaces: vec![
                interface("vlan7", None, &["bond0"]),
                interface("bond0", Some(50_000), &["eth0", "eth01", "vlan7"]),
                interface("eth0", Some(25_000), &[]),
                interface("eth01", Some(25_000), &[]),
                interface("vlan8", Some(10_000), &["eth002"]),
                interface("vlan9", Some(10_000), &["eth002"]),
                interface("eth002", Some(10_000), &[]),
            ],
            routes: routes.iter().map(route).collect(),
            ..Machine::default()
        }
    }

    #[test]
    fn an_interface_stands_on_adapters_at_any_depth() {
        let machine = machine(&["vlan7", "vlan7"]);
        assert_eq!(carriers(&machine).used.len(), 1);
        let names = |named: ByName<'_>| named.into_keys().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names(adapters(&machine, "vlan7")), ["eth0", "eth01"]);
        assert_eq!(names(adapters_in_use(&machine)), ["eth0", "eth01"]);
        assert_eq!(names(adapters(&machine, "lo")), ["lo"]);
        let macs: Vec<_> = hardware_addresses(&machine).into_iter().collect();
        assert_eq!(macs, ["02:00:00:00:00:04", "02:00:00:00:00:05"]);
    }

    #[test]
    fn capacity_counts_each_adapter_once() {
        let capacity = |routes: &[&str]| bits_per_second(&machine(routes));
        assert_eq!(capacity(&["vlan7", "vlan7"]), Some(50e9));
        assert_eq!(capacity(&["vlan7", "eth01"]), Some(50e9));
        assert_eq!(capacity(&["vlan8", "vlan9"]), Some(10e9));
        assert_eq!(capacity(&["vlan8", "eth0"]), Some(35e9));
        assert_eq!(capacity(&["vlan8", "lo"]), None);
        assert_eq!(capacity(&[]), None);
        // Only one adapter of this bond is active.
        let mut backup = machine(&["vlan7"]);
        backup.interfaces[1].speed_mbit_per_second = Some(25_000);
        assert_eq!(bits_per_second(&backup), Some(25e9));
        backup.interfaces[1].speed_mbit_per_second = None;
        backup.interfaces[2].speed_mbit_per_second = None;
        assert_eq!(bits_per_second(&backup), None);
    }
}
