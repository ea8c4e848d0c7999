//! How a machine is set up where that decides how well it measures: limits, buffers, processors, links and clocks.
//!
//! As with all evidence nothing is guessed: what cannot be read, or makes no sense, is `None`.

mod clock;
mod links;
mod numa;
mod processors;
mod sockets;
mod space;

pub use clock::{Clock, Synchronisation};
pub use links::{LinkState, Offload};
pub use numa::{Numa, NumaNode};
pub use processors::{Processors, Quota};
pub use sockets::SocketLimits;
pub use space::{OpenFiles, Space};

use crate::System;

/// How a machine is set up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Condition {
    /// What the kernel lets sockets have.
    pub sockets: SocketLimits,
    /// Files and memory.
    pub space: Space,
    /// Frequencies and shares of the processors.
    pub processors: Processors,
    /// Which part of the machine is near which.
    pub numa: Numa,
    /// Its clocks.
    pub clock: Clock,
    /// Its interfaces, loopback excepted, by name.
    pub links: Vec<LinkState>,
}

impl System {
    /// How the machine, and this process on it, is set up. Asks `ethtool`, `chronyc` and `timedatectl` where programs are run.
    pub fn condition(&self) -> Condition {
        Condition {
            sockets: self.socket_limits(),
            space: self.space(),
            processors: self.processors(),
            numa: self.numa(),
            clock: self.clock(),
            links: self.links(),
        }
    }
}
