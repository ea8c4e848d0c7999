//! The description of a machine, read from the system: the evidence that the rules require (MLPerf Inference rules v5.0, sections
//! 4.1.1, 6.2.2 and 6.2.3).
//!
//! Nothing is guessed: what cannot be read stays unset, and the operator can supply it in a file.
//!
//! - [`System::machine`]: processors, memory, accelerators (`processors.rs`, `memory.rs`, `accelerators.rs`)
//! - [`System::interfaces`]: network interfaces (`interfaces.rs`); [`route`]: which of them leads to a peer
//! - [`serving_engine`]: whether an engine that listens somewhere is on this machine
//! - `identity.rs`: digests that tell machines apart; `hypervisor.rs`: whether it is a virtual one
//! - [`System::condition`]: how the machine is set up where that decides how well it measures (`condition/`)
//! - [`Statement`]: fields that an operator states in a file (`supply.rs`)

mod accelerators;
mod condition;
mod hypervisor;
mod identity;
mod interfaces;
mod memory;
mod processors;
mod route;
mod supply;
mod system;

pub use condition::{
    Clock, Condition, LinkState, Numa, NumaNode, Offload, OpenFiles, Processors, Quota,
    SocketLimits, Space, Synchronisation,
};
pub use netdiv_contract::v1::{Accelerator, Interface, Machine, Route, ServingEngine};
pub use route::{route, serving_engine};
pub use supply::{Statement, SupplyError};
pub use system::System;
