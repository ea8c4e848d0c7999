//! Requirements of a program, with its settings, on a machine.

use std::time::Duration;

/// Interfaces to judge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LinkSelection {
    /// All interfaces that are up and have underlying hardware.
    #[default]
    Up,
    /// Interfaces with these names.
    Named(Vec<String>),
}

/// Numbers of files that a program may have open at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FilesNeeded {
    /// Number of files below which connections that the settings allow are refused.
    pub least: u64,
    /// Number of files that all connections of the program need, including pending ones.
    pub all: u64,
    /// True if the program raises its soft limit to the hard limit.
    pub raises_limit: bool,
}

/// Memory that a program may need, without the model, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeeded {
    /// Memory with clients that respect the limits that the node announces, in bytes.
    pub least: u64,
    /// Memory with clients that fill every limit, in bytes.
    pub all: u64,
}

/// Requirements of a program, with its settings, on a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Name and version of the program.
    pub program: String,
    /// UDP socket buffer in each direction that QUIC asks for, in bytes; `None` without QUIC.
    pub udp_buffer_bytes: Option<u64>,
    /// Bytes that a peer may send on a gRPC stream before they are read; `None` without gRPC.
    pub tcp_window_bytes: Option<u64>,
    /// Maximum UDP payload that QUIC tries, in bytes, if the settings choose it.
    pub quic_mtu: Option<u16>,
    /// Number of connections that other programs may open to this one at the same time.
    pub connections: u64,
    /// Numbers of files that the program needs to have open.
    pub files: FilesNeeded,
    /// Number of threads that serve connections.
    pub io_threads: usize,
    /// Cores to which the I/O threads are bound, in turn.
    pub pin: Vec<usize>,
    /// Interfaces that the program uses.
    pub links: LinkSelection,
    /// True if the program sends samples to accelerators of this machine.
    pub uses_accelerators: bool,
    /// Sum of the program's limits on its memory; `None` if no limits bound its memory.
    pub memory: Option<MemoryNeeded>,
    /// Offset of the clock above which the doctor reports it.
    pub clock_tolerance: Duration,
}
