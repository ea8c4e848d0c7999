//! Facts to judge: the machine, its condition, and the nodes.

use std::time::Duration;

use crate::evidence::{Condition, Interface, MAX_NESTING, Machine, System};

/// Maximum plausible speed of an interface, in Mb/s. A driver that reports more is wrong.
const MAX_SPEED: u64 = 10_000_000;

/// Plausible MTUs of an interface, in bytes (RFC 791, and the longest IP packet).
const MTUS: std::ops::RangeInclusive<u64> = 68..=65_536;

/// Description and condition of a machine, which the doctor judges.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Description of the machine.
    pub machine: Machine,
    /// Limits, buffers, processors, links and clocks.
    pub condition: Condition,
}

/// Node that was asked over the network to describe itself.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Address of the node, as configured.
    pub address: String,
    /// Interface of this machine that leads to the node, if known.
    pub interface: Option<String>,
    /// Description of the node, or the reason why it is missing.
    pub answer: Result<PeerFacts, String>,
}

/// Description that a node sent about itself.
#[derive(Debug, Clone, Default)]
pub struct PeerFacts {
    /// Name of the node.
    pub name: String,
    /// Version of the node's program.
    pub version: String,
    /// Machine of the node. Its first route is the route to this machine.
    pub machine: Machine,
    /// Round trip of the call that described the node.
    pub round_trip: Duration,
}

impl Facts {
    /// Returns the facts of a machine whose condition is not judged.
    pub fn of(machine: Machine) -> Self {
        Self { machine, condition: Condition::default() }
    }

    /// Reads the machine and its condition.
    pub fn read(system: &System) -> Self {
        Self { machine: system.machine(), condition: system.condition() }
    }
}

/// Returns the interface of a machine that has this name, if there is one.
pub(crate) fn interface<'a>(machine: &'a Machine, name: &str) -> Option<&'a Interface> {
    machine.interfaces.iter().find(|interface| interface.name == name)
}

/// Returns the speed of an interface in Mb/s, if it is plausible.
pub(crate) fn speed(interface: &Interface) -> Option<u64> {
    interface.speed_mbit_per_second.filter(|speed| (1..=MAX_SPEED).contains(speed))
}

/// Returns the MTU of an interface in bytes, if it is plausible.
pub(crate) fn mtu(interface: &Interface) -> Option<u64> {
    interface.mtu_bytes.filter(|mtu| MTUS.contains(mtu))
}

/// Returns the NUMA node of an interface, or of its first underlying interface that has one.
pub(crate) fn numa_node(machine: &Machine, name: &str) -> Option<u32> {
    fn below(machine: &Machine, name: &str, storeys: usize) -> Option<u32> {
        let interface = interface(machine, name)?;
        let storeys = storeys.checked_sub(1)?;
        let lower = || interface.over.iter().find_map(|lower| below(machine, lower, storeys));
        interface.numa_node.or_else(lower)
    }
    below(machine, name, MAX_NESTING)
}
