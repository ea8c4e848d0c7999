//! Shared code of the end-to-end tests: the real programs as processes, and fake nodes and engines
//! that misbehave on demand.
//!
//! The programs must be built first, with the same profile; `make test` does that.

pub mod bombs;
mod client;
pub mod document;
pub mod fake_engine;
pub mod fake_node;
pub mod fake_server;
pub mod flood;
pub mod folder;
pub mod generated;
mod load_gen;
pub mod npy_file;
pub mod parts_file;
pub mod plugin;
pub mod ports;
pub mod process;
pub mod python_engine;
pub mod relay;
pub mod round;
pub mod sampling_engine;
pub mod scrape;
mod side_by_side;
pub mod slow_reader;
pub mod sut_node;
pub mod triton;

pub use bombs::Bombs;
pub use fake_engine::FakeEngine;
pub use fake_node::{Behaviour, FakeNode};
pub use flood::Flood;
pub use folder::Folder;
pub use load_gen::{LoadGen, Outcome, RunningLoadGen, TOKEN_BOUNDS, nodes};
pub use npy_file::npy;
pub use parts_file::write_parts;
pub use process::wait_until;
pub use relay::{Direction, Faults, Relay};
pub use side_by_side::side_by_side;
pub use sut_node::{SutNode, assert_refused};
pub use triton::Triton;
