//! A wire with faults: a relay in this process between a client and a node, for TCP and UDP,
//! without privileges. The faults of each direction can be changed at any time.

mod direction;
mod faults;
mod tcp;
mod udp;
mod wire;

pub use self::{
    faults::{Counts, Faults},
    wire::Direction,
};

use std::sync::Arc;

use tokio::{runtime::Runtime, sync::watch};

use self::{
    direction::WireDirection,
    wire::{End, Wire},
};
use crate::process::transport;

/// Seed of random faults, unless a test passes another.
const SEED: u64 = 1;

/// A running relay. Dropping the value stops it.
pub struct Relay {
    /// Address of the listener, as `IP:PORT`.
    pub address: String,
    wire: Arc<Wire>,
    _runtime: Runtime,
}

impl Relay {
    /// Starts a relay in front of a node, for the transport under test.
    pub fn to(node: &str) -> Self {
        if transport() == "quic" { Self::udp(node) } else { Self::tcp(node) }
    }

    /// Starts a relay between TCP connections.
    pub fn tcp(node: &str) -> Self {
        Self::start(node, false, SEED)
    }

    /// Starts a relay between UDP sockets. Each client gets its own port towards the node.
    pub fn udp(node: &str) -> Self {
        Self::start(node, true, SEED)
    }

    /// Starts a relay for UDP or TCP, with a seed.
    pub fn start(node: &str, udp: bool, seed: u64) -> Self {
        // A wire needs no more than one thread.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let wire = Arc::new(Wire {
            node: node.parse().expect("an address"),
            to_node: WireDirection::new(udp, 2 * seed),
            to_client: WireDirection::new(udp, 2 * seed + 1),
            end: watch::Sender::new(End::Closed),
        });
        let _inside = runtime.enter();
        let address = if udp { udp::start(wire.clone()) } else { tcp::start(wire.clone()) };
        Self { address: address.to_string(), wire, _runtime: runtime }
    }

    /// Changes the faults of both directions. Byte and piece counts of the faults restart.
    pub fn set(&self, faults: Faults) {
        self.set_one_way(Direction::ToNode, faults);
        self.set_one_way(Direction::ToClient, faults);
    }

    /// Changes the faults of one direction.
    pub fn set_one_way(&self, direction: Direction, faults: Faults) {
        self.wire.way(direction).set(faults);
    }

    /// Ends all current connections: TCP with an RST, UDP with permanent silence.
    pub fn reset(&self) {
        self.wire.end.send_replace(End::Reset);
    }

    /// Ends all current connections: TCP with a FIN, UDP with permanent silence.
    pub fn close(&self) {
        self.wire.end.send_replace(End::Closed);
    }

    /// Returns the counts of one direction.
    pub fn counts(&self, direction: Direction) -> Counts {
        self.wire.way(direction).counts()
    }
}
