//! How a machine is set up where that decides how well it measures: limits, buffers, processors, links and clocks.
//!
//! As with all evidence nothing is guessed: what cannot be read, or makes no sense, is `None`.

mod clock;
mod links;
mod numa;
mod processors;
mod space;

pub use clock::{Clock, Synchronisation};
pub use links::{LinkState, Offload};
pub use numa::{Numa, NumaNode};
pub use processors::{Processors, Quota};
pub use space::{OpenFiles, Space};

use crate::evidence::System;

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

/// Limits of sockets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketLimits {
    /// Maximum receive buffer that a program can ask for, in bytes (`net.core.rmem_max`).
    pub receive_max: Option<u64>,
    /// Maximum send buffer that a program can ask for, in bytes (`net.core.wmem_max`).
    pub send_max: Option<u64>,
    /// Size up to which the kernel lets a TCP receive buffer grow, in bytes (the last number of `net.ipv4.tcp_rmem`).
    pub tcp_receive_max: Option<u64>,
    /// Size up to which the kernel lets a TCP send buffer grow, in bytes (the last number of `net.ipv4.tcp_wmem`).
    pub tcp_send_max: Option<u64>,
    /// Connections that may wait until a program accepts them (`net.core.somaxconn`).
    pub waiting_max: Option<u64>,
}

impl System {
    pub(super) fn socket_limits(&self) -> SocketLimits {
        let number = |name: &str| self.read(&format!("proc/sys/net/{name}"))?.parse().ok();
        // Minimum, default and maximum.
        let most = |name: &str| {
            let text = self.read(&format!("proc/sys/net/ipv4/{name}"))?;
            let sizes: Vec<u64> = text.split_whitespace().map_while(|n| n.parse().ok()).collect();
            <[u64; 3]>::try_from(sizes).ok().map(|[_, _, most]| most)
        };
        SocketLimits {
            receive_max: number("core/rmem_max"),
            send_max: number("core/wmem_max"),
            tcp_receive_max: most("tcp_rmem"),
            tcp_send_max: most("tcp_wmem"),
            waiting_max: number("core/somaxconn"),
        }
    }
}
