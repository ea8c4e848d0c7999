//! Files and memory: limits of this process, available memory, and swap.

use netdiv_node_common::resources::memory::{self, Available};

use crate::evidence::System;

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
    pub memory: Option<Available>,
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
