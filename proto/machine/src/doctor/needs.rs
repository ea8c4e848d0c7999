//! What a program with its settings asks of a machine.

use std::time::Duration;

/// Which interfaces are judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Links {
    /// All that are up and have hardware below them.
    Up,
    /// Those of these names.
    Named(Vec<String>),
}

/// Files that a program may have open at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FilesNeeded {
    /// Below this, connections that the settings allow are refused.
    pub least: u64,
    /// With everything that the program has room for.
    pub all: u64,
    /// Whether the program raises its soft limit to the hard one.
    pub raises_limit: bool,
}

/// Memory that a program may take, without the model, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeeded {
    /// With clients that keep to what they are told.
    pub least: u64,
    /// With clients that fill every limit.
    pub all: u64,
}

/// What a program with its settings asks of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// Name and version.
    pub program: String,
    /// QUIC is used, and this is the buffer that it asks for in each direction, in bytes.
    pub udp_buffer_bytes: Option<u64>,
    /// gRPC is used, and this is what a peer may send on a stream before it is read, in bytes.
    pub tcp_window_bytes: Option<u64>,
    /// The longest UDP payload to try, where one is chosen, in bytes.
    pub quic_mtu: Option<u16>,
    /// Connections that others open to it at the same time.
    pub connections: u64,
    /// Files that it opens.
    pub files: FilesNeeded,
    /// Threads that serve connections.
    pub io_threads: usize,
    /// The cores that these are bound to, in turn.
    pub pin: Vec<usize>,
    /// The interfaces that it uses.
    pub links: Links,
    /// Whether samples go to accelerators of this machine.
    pub uses_accelerators: bool,
    /// Memory that its limits add up to, where they do.
    pub memory: Option<MemoryNeeded>,
    /// How far the clock may be from others.
    pub clock_tolerance: Duration,
}

impl Needs {
    /// Those of a program that asks for nothing.
    pub fn of(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            udp_buffer_bytes: None,
            tcp_window_bytes: None,
            quic_mtu: None,
            connections: 0,
            files: FilesNeeded::default(),
            io_threads: 1,
            pin: Vec::new(),
            links: Links::Up,
            uses_accelerators: false,
            memory: None,
            clock_tolerance: Duration::from_secs(1),
        }
    }
}
