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

/// Graph of the interfaces in a machine's evidence.
pub(crate) trait Interfaces {
    /// Finds an interface by name.
    fn interface(&self, name: &str) -> Option<&Interface>;

    /// Returns the interfaces that carry the machine's routes.
    fn carriers(&self) -> Carriers<'_>;

    /// Returns an interface and all its underlying interfaces, at any depth.
    fn underlying<'a>(&'a self, name: &'a str) -> ByName<'a>;

    /// Returns the physical adapters underlying an interface; if it has none, the interface itself.
    fn adapters<'a>(&'a self, name: &'a str) -> ByName<'a>;

    /// Returns the physical adapters underlying all routes. A cable can be connected to each of
    /// them.
    fn adapters_in_use(&self) -> ByName<'_>;

    /// Returns the hardware addresses of the non-virtual interfaces underlying the routes, at any
    /// depth, in lower case.
    fn hardware_addresses(&self) -> BTreeSet<String>;

    /// Returns the total capacity of the routes' interfaces in each direction, in bits per second;
    /// `None` if the capacity of an interface is unknown.
    fn bits_per_second(&self) -> Option<f64>;
}

impl Interfaces for Machine {
    fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.name == name)
    }

    fn carriers(&self) -> Carriers<'_> {
        let mut carriers = Carriers::default();
        for route in &self.routes {
            let interface = route.interface.as_ref().and_then(|name| self.interface(name));
            match interface {
                Some(one) if carriers.used.iter().any(|used| used.name == one.name) => {}
                Some(interface) => carriers.used.push(interface),
                None => carriers.unknown.push(route),
            }
        }
        carriers
    }

    fn underlying<'a>(&'a self, name: &'a str) -> ByName<'a> {
        let mut found = ByName::new();
        let mut waiting = vec![name];
        while let Some(name) = waiting.pop() {
            if found.contains_key(name) {
                continue;
            }
            let interface = self.interface(name);
            found.insert(name, interface);
            let below = interface.into_iter().flat_map(|interface| &interface.over);
            waiting.extend(below.map(String::as_str));
        }
        found
    }

    fn adapters<'a>(&'a self, name: &'a str) -> ByName<'a> {
        let mut found = self.underlying(name);
        found.retain(|_, interface| interface.is_none_or(|interface| interface.over.is_empty()));
        found
    }

    fn adapters_in_use(&self) -> ByName<'_> {
        let names = self.routes.iter().filter_map(|route| route.interface.as_deref());
        names.flat_map(|name| self.adapters(name)).collect()
    }

    fn hardware_addresses(&self) -> BTreeSet<String> {
        let names = self.routes.iter().filter_map(|route| route.interface.as_deref());
        let used: ByName<'_> = names.flat_map(|name| self.underlying(name)).collect();
        let physical = used.into_values().flatten().filter(|interface| interface.kind != "virtual");
        let addresses = physical.filter_map(|interface| interface.mac.as_deref());
        let addresses = addresses.map(|mac| mac.trim().to_lowercase());
        // An address of zeros is invalid.
        addresses.filter(|mac| mac.contains(|c: char| c.is_alphanumeric() && c != '0')).collect()
    }

    fn bits_per_second(&self) -> Option<f64> {
        let carriers = self.carriers();
        if carriers.used.is_empty() || !carriers.unknown.is_empty() {
            return None;
        }
        let of_group = |group: Group<'_>| {
            let own = group.carriers.iter().map(|carrier| speed(self, carrier, &mut Vec::new()));
            let below = group.adapters.values().map(|adapter| bits(*adapter));
            min_known(own.sum(), below.sum())
        };
        groups(self, &carriers.used).into_iter().map(of_group).sum()
    }
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
        let adapters = machine.adapters(&carrier.name);
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
        below.iter().map(|name| speed(machine, machine.interface(name)?, above)).sum();
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
        assert_eq!(machine.carriers().used.len(), 1);
        let names = |named: ByName<'_>| named.into_keys().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names(machine.adapters("vlan7")), ["eth0", "eth01"]);
        assert_eq!(names(machine.adapters_in_use()), ["eth0", "eth01"]);
        assert_eq!(names(machine.adapters("lo")), ["lo"]);
        let macs: Vec<_> = machine.hardware_addresses().into_iter().collect();
        assert_eq!(macs, ["02:00:00:00:00:04", "02:00:00:00:00:05"]);
    }

    #[test]
    fn capacity_counts_each_adapter_once() {
        let capacity = |routes: &[&str]| machine(routes).bits_per_second();
        assert_eq!(capacity(&["vlan7", "vlan7"]), Some(50e9));
        assert_eq!(capacity(&["vlan7", "eth01"]), Some(50e9));
        assert_eq!(capacity(&["vlan8", "vlan9"]), Some(10e9));
        assert_eq!(capacity(&["vlan8", "eth0"]), Some(35e9));
        assert_eq!(capacity(&["vlan8", "lo"]), None);
        assert_eq!(capacity(&[]), None);
        // Only one adapter of this bond is active.
        let mut backup = machine(&["vlan7"]);
        backup.interfaces[1].speed_mbit_per_second = Some(25_000);
        assert_eq!(backup.bits_per_second(), Some(25e9));
        backup.interfaces[1].speed_mbit_per_second = None;
        backup.interfaces[2].speed_mbit_per_second = None;
        assert_eq!(backup.bits_per_second(), None);
    }
}
