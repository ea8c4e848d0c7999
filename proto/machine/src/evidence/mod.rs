//! Description of a machine, read from the system: the evidence that the rules require (MLPerf
//! Inference rules v5.0, sections 4.1.1, 6.2.2 and 6.2.3).
//!
//! Values are not guessed: an unreadable value is unset, and the operator can supply it in a file.
//!
//! - [`System::machine`]: processors, memory, accelerators (`processors.rs`, `memory.rs`,
//!   `accelerators.rs`)
//! - [`System::interfaces`]: network interfaces (`interfaces.rs`); [`route`]: the interface that
//!   leads to a peer
//! - [`serving_engine`]: location of a serving engine: on this machine or elsewhere
//! - `identity.rs`: digests that identify machines
//! - [`System::condition`]: condition of the machine that affects measurements (`condition/`)
//! - [`Statement`]: fields that an operator states in a file (`supply.rs`)

mod accelerators;
mod condition;
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
pub(crate) use interfaces::MAX_NESTING;
pub use netdiv_contract::v1::{Accelerator, Interface, Machine, Route, ServingEngine};
pub use route::{route, serving_engine};
pub use supply::{Statement, SupplyError};
pub use system::System;
