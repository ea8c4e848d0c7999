//! The machines of a run, and the network interfaces that carry its messages.

use std::{collections::BTreeSet, fmt};

use netdiv_contract::v1::Machine;

use crate::{
    facts::{
        interfaces::{self, ByName},
        machines::LOADGEN,
    },
    record::RunResult,
};

/// Machines of a run: the LoadGen node, then the SUT nodes in the order of the run.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub(crate) machines: Vec<NamedMachine>,
}

#[derive(Debug, Clone)]
pub(crate) struct NamedMachine {
    pub(crate) name: String,
    pub(crate) machine: Machine,
}

/// End of a cable: an interface of a machine, or a port of a switch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkEnd {
    pub(crate) device: String,
    pub(crate) port: String,
}

impl fmt::Display for LinkEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.device, self.port)
    }
}

impl Cluster {
    /// Returns the machines of a run. A machine without evidence has only a name.
    pub(crate) fn of(run: &RunResult) -> Self {
        let evidence = run.evidence.clone().unwrap_or_default();
        let mut machines =
            vec![NamedMachine { name: LOADGEN.into(), machine: evidence.loadgen_node }];
        let nodes = run.nodes.iter().map(|node| NamedMachine {
            name: node.name.clone(),
            machine: evidence.nodes.get(&node.name).cloned().unwrap_or_default(),
        });
        machines.extend(nodes);
        Self { machines }
    }

    pub(crate) fn loadgen(&self) -> &[NamedMachine] {
        &self.machines[..1]
    }

    pub(crate) fn nodes(&self) -> &[NamedMachine] {
        &self.machines[1..]
    }

    pub(crate) fn find(&self, name: &str) -> Option<&NamedMachine> {
        self.machines.iter().find(|named| named.name == name)
    }
}

impl NamedMachine {
    /// Returns true if the machine has this interface, or if one of its routes uses it.
    pub(crate) fn has(&self, name: &str) -> bool {
        interfaces::find(&self.machine, name).is_some() || self.nics().contains_key(name)
    }

    /// Returns the physical adapters underlying all routes, with their descriptions.
    pub(crate) fn nics(&self) -> ByName<'_> {
        interfaces::adapters_in_use(&self.machine)
    }

    /// Returns the physical adapters underlying all routes, as ends of links.
    pub(crate) fn ends(&self) -> BTreeSet<LinkEnd> {
        self.nics().into_keys().map(|name| self.end(name)).collect()
    }

    /// Returns the physical adapters underlying the route with the index `route`, as ends of links.
    /// If the route uses a bond, bridge or VLAN, these are its adapters.
    pub(crate) fn ends_of_route(&self, route: usize) -> BTreeSet<LinkEnd> {
        let interface = self.machine.routes.get(route).and_then(|route| route.interface.as_deref());
        let adapters =
            interface.into_iter().flat_map(|name| interfaces::adapters(&self.machine, name));
        adapters.map(|(name, _)| self.end(name)).collect()
    }

    fn end(&self, port: &str) -> LinkEnd {
        LinkEnd { device: self.name.clone(), port: port.into() }
    }
}

#[cfg(test)]
mod tests {
    use netdiv_contract::v1::Route;

    use super::*;

    #[test]
    fn an_interface_on_a_route_is_known_without_a_description() {
        let route = Route { interface: Some("lo".into()), ..Route::default() };
        let machine = Machine { routes: vec![route], ..Machine::default() };
        let named = NamedMachine { name: "a".into(), machine };
        assert!(named.has("lo") && !named.has("eth2"));
    }
}
