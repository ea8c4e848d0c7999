//! Room for files and memory: limits of this process, what is available, and swap.

use netdiv_node_common::resources::memory::{self, Available};

use crate::evidence::System;

/// Files that this process may have open. `u64::MAX` where there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// What it may have now.
    pub soft: u64,
    /// What it can raise that to.
    pub hard: u64,
}

/// Room for files and memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Space {
    /// Files that this process may have open.
    pub open_files: Option<OpenFiles>,
    /// Memory that this process can have.
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
