//! Condition of a machine that affects measurements: limits, buffers, processors, links and clocks.
//!
//! As with all evidence, values are not guessed: a value that is unreadable or implausible is
//! `None`.

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

/// Condition of a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Condition {
    /// Limits of the kernel on sockets.
    pub sockets: SocketLimits,
    /// Files and memory.
    pub space: Space,
    /// Governors and quota of the processors.
    pub processors: Processors,
    /// NUMA nodes, and the accelerators on them.
    pub numa: Numa,
    /// Clocks of the machine.
    pub clock: Clock,
    /// State of each interface of the machine except loopback, in the order of their names.
    pub links: Vec<LinkState>,
}

impl System {
    /// Reads the condition of the machine and of this process. Runs `ethtool`, `chronyc` and
    /// `timedatectl` if the system permits programs.
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

/// Limits of the kernel on sockets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketLimits {
    /// Maximum receive buffer that a program can ask for, in bytes (`net.core.rmem_max`).
    pub receive_max: Option<u64>,
    /// Maximum send buffer that a program can ask for, in bytes (`net.core.wmem_max`).
    pub send_max: Option<u64>,
    /// Maximum size of a TCP receive buffer, in bytes (the last number of `net.ipv4.tcp_rmem`).
    pub tcp_receive_max: Option<u64>,
    /// Maximum size of a TCP send buffer, in bytes (the last number of `net.ipv4.tcp_wmem`).
    pub tcp_send_max: Option<u64>,
    /// Maximum number of connections that wait to be accepted (`net.core.somaxconn`).
    pub waiting_max: Option<u64>,
}

impl System {
    pub(super) fn socket_limits(&self) -> SocketLimits {
        let number = |name: &str| self.read(&format!("proc/sys/net/{name}"))?.parse().ok();
        // The file contains minimum, default and maximum.
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
