//! What the end-to-end tests share: the real programs as processes, and a node that misbehaves on demand.
//!
//! The programs must be built first, with the same profile; `make test` does that.

pub mod fake_node;
pub mod process;

pub use fake_node::{Behaviour, FakeNode};
pub use process::{LoadGen, Outcome, SutNode, wait_until};
