//! What is judged.

use std::time::Duration;

use crate::evidence::{Condition, Interface, Machine, System};

/// Faster interfaces than this, in Mb/s, there are none: a driver has made the figure up.
const MOST_SPEED: u64 = 10_000_000;

/// MTUs that an interface can have, in bytes (RFC 791, and the longest IP packet).
const MTUS: std::ops::RangeInclusive<u64> = 68..=65_536;

/// Interfaces that may stand on each other.
const STOREYS: usize = 4;

/// A machine and how it is set up.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// What it is.
    pub machine: Machine,
    /// How it is set up.
    pub condition: Condition,
}

/// A node that was asked over the network.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Its address, as it was given.
    pub address: String,
    /// The interface of this machine that leads to it, where that is known.
    pub interface: Option<String>,
    /// What it says, or why it says nothing.
    pub answer: Result<PeerFacts, String>,
}

/// What a node says of itself.
#[derive(Debug, Clone, Default)]
pub struct PeerFacts {
    /// Its name.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// Its machine, with the route to this one first.
    pub machine: Machine,
    /// How long its answer took.
    pub round_trip: Duration,
}

impl Facts {
    /// Returns the facts of a machine whose condition is not judged.
    pub fn of(machine: Machine) -> Self {
        Self { machine, condition: Condition::default() }
    }

    /// Reads them.
    pub fn read(system: &System) -> Self {
        Self { machine: system.machine(), condition: system.condition() }
    }
}

/// The interface of that name.
pub(crate) fn interface<'a>(machine: &'a Machine, name: &str) -> Option<&'a Interface> {
    machine.interfaces.iter().find(|interface| interface.name == name)
}

/// Its speed in Mb/s, where that can be.
pub(crate) fn speed(interface: &Interface) -> Option<u64> {
    interface.speed_mbit_per_second.filter(|speed| (1..=MOST_SPEED).contains(speed))
}

/// Its MTU in bytes, where that can be.
pub(crate) fn mtu(interface: &Interface) -> Option<u64> {
    interface.mtu_bytes.filter(|mtu| MTUS.contains(mtu))
}

/// The NUMA node of an interface, or of the first below it that has one.
pub(crate) fn numa_node(machine: &Machine, name: &str) -> Option<u32> {
    fn below(machine: &Machine, name: &str, storeys: usize) -> Option<u32> {
        let interface = interface(machine, name)?;
        let storeys = storeys.checked_sub(1)?;
        let lower = || interface.over.iter().find_map(|lower| below(machine, lower, storeys));
        interface.numa_node.or_else(lower)
    }
    below(machine, name, STOREYS)
}
