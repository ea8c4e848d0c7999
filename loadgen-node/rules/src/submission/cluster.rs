//! The machines of a run and the network interfaces that its messages go through.

use std::collections::BTreeSet;

use netdiv_proto::v1::{Interface, Machine};

use crate::{check, result::RunResult};

/// The LoadGen node's name in topologies and documents.
pub(super) const LOADGEN: &str = "loadgen";

/// The machines, the LoadGen node first, then the nodes in the order of the run.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub(super) machines: Vec<Named>,
}

/// A machine and its name.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) machine: Machine,
}

impl Cluster {
    /// The machines of a run. What no evidence describes has a name and nothing else.
    pub(super) fn of(run: &RunResult) -> Self {
        let evidence = run.evidence.clone().unwrap_or_default();
        let mut machines = vec![Named { name: LOADGEN.into(), machine: evidence.loadgen_node }];
        let nodes = run.nodes.iter().map(|node| Named {
            name: node.name.clone(),
            machine: evidence.nodes.get(&node.name).cloned().unwrap_or_default(),
        });
        machines.extend(nodes);
        Self { machines }
    }

    /// The LoadGen node.
    pub(super) fn loadgen(&self) -> &[Named] {
        &self.machines[..1]
    }

    /// The SUT nodes.
    pub(super) fn nodes(&self) -> &[Named] {
        &self.machines[1..]
    }

    /// The machines of the nodes, each once, with the routes of all nodes on it.
    pub(super) fn nodes_machines(&self) -> Vec<Named> {
        let mut all: Vec<Named> = Vec::new();
        for node in self.nodes() {
            match all.iter_mut().find(|known| check::is_one(&known.machine, &node.machine)) {
                Some(known) => known.machine.routes.extend(node.machine.routes.iter().cloned()),
                None => all.push(node.clone()),
            }
        }
        all
    }

    /// The machine of that name.
    pub(super) fn find(&self, name: &str) -> Option<&Named> {
        self.machines.iter().find(|named| named.name == name)
    }
}

impl Named {
    /// The interface of that name.
    pub(super) fn interface(&self, name: &str) -> Option<&Interface> {
        self.machine.interfaces.iter().find(|interface| interface.name == name)
    }

    /// Whether it has that interface; what a route names counts as well.
    pub(super) fn has(&self, name: &str) -> bool {
        self.interface(name).is_some() || self.on_routes().contains(name)
    }

    /// Names of the interfaces on all its routes: those that a cable can be put into.
    pub(super) fn on_routes(&self) -> BTreeSet<String> {
        (0..self.machine.routes.len()).flat_map(|route| self.on_route(route)).collect()
    }

    /// Names of the interfaces on that route. A bond, bridge or VLAN stands for those below it.
    pub(super) fn on_route(&self, route: usize) -> BTreeSet<String> {
        let mut below = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let first = self.machine.routes.get(route).and_then(|route| route.interface.clone());
        let mut waiting: Vec<_> = first.into_iter().collect();
        while let Some(name) = waiting.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            match self.interface(&name).map_or(&[][..], |interface| &interface.over) {
                [] => drop(below.insert(name)),
                over => waiting.extend(over.iter().cloned()),
            }
        }
        below
    }

    /// The same, with what the machine says of them; nothing where it says nothing.
    pub(super) fn nics(&self) -> Vec<(String, Option<&Interface>)> {
        let describe = |name: String| {
            let interface = self.interface(&name);
            (name, interface)
        };
        self.on_routes().into_iter().map(describe).collect()
    }

    /// What its interfaces on routes carry together, in each direction; none where one of them does not say.
    pub(super) fn megabits_per_second(&self) -> Option<u64> {
        let nics = self.nics();
        let speeds = nics.iter().map(|(_, nic)| (*nic)?.speed_mbit_per_second);
        if nics.is_empty() { None } else { total(speeds) }
    }
}

/// The sum, where all are known; a record may say anything.
pub(super) fn total(speeds: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    speeds.into_iter().try_fold(0_u64, |sum, speed| Some(sum.saturating_add(speed?)))
}

/// A speed, as people write it: `100 Gb/s`.
pub(super) fn speed(megabits_per_second: u64) -> String {
    match megabits_per_second {
        gigabits if gigabits >= 1000 && gigabits.is_multiple_of(1000) => {
            format!("{} Gb/s", gigabits / 1000)
        }
        gigabits if gigabits >= 1000 => format!("{:.1} Gb/s", gigabits as f64 / 1000.0),
        megabits => format!("{megabits} Mb/s"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use netdiv_proto::v1::Route;

    use super::*;

    #[test]
    fn a_bond_stands_for_its_interfaces() {
        let interface = |name: &str, over: &[&str], speed| Interface {
            name: name.into(),
            over: over.iter().map(|name| (*name).into()).collect(),
            speed_mbit_per_second: speed,
            ..Interface::default()
        };
        let route = |name: &str| Route { interface: Some(name.into()), ..Route::default() };
        let machine = Machine {
            interfaces: vec![
                interface("vlan7", &["bond0"], None),
                interface("bond0", &["eth0", "eth1"], Some(50_000)),
                interface("eth0", &[], Some(25_000)),
                interface("eth1", &[], Some(25_000)),
            ],
            routes: vec![route("vlan7"), route("eth1")],
            ..Machine::default()
        };
        let mut named = Named { name: "a".into(), machine };
        assert_eq!(named.on_routes().into_iter().collect::<Vec<_>>(), ["eth0", "eth1"]);
        assert_eq!(named.megabits_per_second(), Some(50_000));
        named.machine.routes.push(route("lo"));
        assert!(named.has("lo") && !named.has("eth2"));
        assert_eq!(named.megabits_per_second(), None);
    }

    #[test]
    fn speeds_read_well() {
        assert_eq!([100_000, 2500, 100].map(speed), ["100 Gb/s", "2.5 Gb/s", "100 Mb/s"]);
    }
}
