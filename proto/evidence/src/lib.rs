//! What a machine is, read from the system: the evidence that the rules ask for (MLPerf Inference rules v5.0, sections
//! 4.1.1, 6.2.2 and 6.2.3).
//!
//! Nothing is guessed: what cannot be read stays unset, and a file of the operator can supply it.
//!
//! - [`System::machine`]: processors, memory, accelerators (`processors.rs`, `memory.rs`, `accelerators.rs`)
//! - [`System::interfaces`]: network interfaces (`interfaces.rs`); [`route`]: which of them leads to a peer
//! - `identity.rs`: what tells machines apart, without giving it away
//! - [`supply`]: what an operator states in a file; [`check`]: whether it can be read

mod accelerators;
mod identity;
mod interfaces;
mod memory;
mod processors;
mod route;
mod supply;
mod system;

pub use netdiv_proto::v1::{Accelerator, Interface, Machine, Route};
pub use route::route;
pub use supply::{SupplyError, check, supply};
pub use system::System;
