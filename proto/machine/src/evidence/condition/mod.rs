//! Condition of a machine that affects measurements: limits, buffers, processors, links and clocks.
//!
//! As with all evidence, values are not guessed: a value that is unreadable or implausible is
//! `None`.

mod clock;
mod links;
mod numa;
mod processors;

pub use clock::{Clock, Synchronisation};
pub use links::{LinkState, Offload};
pub use numa::{Numa, NumaNode};
pub use processors::{Processors, Quota};

use netdiv_node_common::resources::memory::{self, AvailableMemory};

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

/// Limits on the files that this process may have open. `u64::MAX` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// Current limit.
    pub soft: u64,
    /// Maximum to which the process can raise the current limit.
    pub hard: u64,
}

/// Files and memory of this process, and swap of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Space {
    /// Limits on the files that this process may have open.
    pub open_files: Option<OpenFiles>,
    /// Memory that is available to this process.
    pub memory: Option<AvailableMemory>,
    /// Swap, in bytes.
    pub swap_bytes: Option<u64>,
    /// Swap that is in use, in bytes.
    pub swap_used_bytes: Option<u64>,
    /// `vm.swappiness`.
    pub swappiness: Option<u64>,
}

impl System {
    pub(super) fn space(&self) -> Space {
        let (swap, free) = (self.meminfo("SwapTotal:"), self.meminfo("SwapFree:"));
        Space {
            open_files: self.open_files(),
            memory: memory::available_under(self.root()),
            swap_bytes: swap,
            swap_used_bytes: swap.zip(free).and_then(|(all, free)| all.checked_sub(free)),
            swappiness: self.read("proc/sys/vm/swappiness").and_then(|text| text.parse().ok()),
        }
    }

    fn open_files(&self) -> Option<OpenFiles> {
        let limits = self.read("proc/self/limits")?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
        let mut figures = line.split_whitespace().map(|figure| match figure {
            "unlimited" => Some(u64::MAX),
            number => number.parse().ok(),
        });
        Some(OpenFiles { soft: figures.next()??, hard: figures.next()?? })
    }
}
