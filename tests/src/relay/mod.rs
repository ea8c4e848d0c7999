//! A wire with faults: a relay in this process between a client and a node, for TCP and for UDP, without privileges.
//! Faults can be changed while it runs, for each direction.

mod faults;
mod tcp;
mod udp;
mod way;
mod wire;

pub use self::{
    faults::{Counts, Faults},
    wire::Direction,
};

use std::sync::Arc;

use tokio::{runtime::Runtime, sync::watch};

use self::{
    way::Way,
    wire::{End, Wire},
};
use crate::process::transport;

/// Seed of the faults that are up to chance, unless a test says otherwise.
const SEED: u64 = 1;

/// A running relay; ended with the value.
pub struct Relay {
    /// Where it listens.
    pub address: String,
    wire: Arc<Wire>,
    _runtime: Runtime,
}

impl Relay {
    /// Before a node, for the transport that the running test program is about.
    pub fn to(node: &str) -> Self {
        if transport() == "quic" { Self::udp(node) } else { Self::tcp(node) }
    }

    /// Between TCP connections.
    pub fn tcp(node: &str) -> Self {
        Self::start(node, false, SEED)
    }

    /// Between UDP sockets: each client has a port of its own towards the node.
    pub fn udp(node: &str) -> Self {
        Self::start(node, true, SEED)
    }

    /// For UDP, or else for TCP, with a seed.
    pub fn start(node: &str, udp: bool, seed: u64) -> Self {
        // One thread: a wire has no more either.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let wire = Arc::new(Wire {
            node: node.parse().expect("an address"),
            to_node: Way::new(udp, 2 * seed),
            to_client: Way::new(udp, 2 * seed + 1),
            end: watch::Sender::new(End::Closed),
        });
        let _inside = runtime.enter();
        let address = if udp { udp::start(wire.clone()) } else { tcp::start(wire.clone()) };
        Self { address: address.to_string(), wire, _runtime: runtime }
    }

    /// Changes the faults of both directions. What counts from a beginning begins again.
    pub fn set(&self, faults: Faults) {
        self.set_one_way(Direction::ToNode, faults);
        self.set_one_way(Direction::ToClient, faults);
    }

    /// Changes the faults of one direction.
    pub fn set_one_way(&self, direction: Direction, faults: Faults) {
        self.wire.way(direction).set(faults);
    }

    /// Ends all connections that there are: TCP with an RST, UDP with silence for good.
    pub fn reset(&self) {
        self.wire.end.send_replace(End::Reset);
    }

    /// Ends all connections that there are: TCP with a FIN, UDP with silence for good.
    pub fn close(&self) {
        self.wire.end.send_replace(End::Closed);
    }

    /// What has become of the bytes that went this way.
    pub fn counts(&self, direction: Direction) -> Counts {
        self.wire.way(direction).counts()
    }
}
