//! A SUT node: takes samples from the network, batches them, runs the model, sends the responses back.
//!
//! Reading order, along the life of a sample:
//!
//! 1. `intake/`: a stream's samples are read, admitted and decoded (`service.rs`); each becomes a `Sample` of `sample/`.
//! 2. `batching/`: `batcher.rs` decides when a batch closes; `queue.rs` lets engines wait for it.
//! 3. `engine/`: `batched.rs` runs an engine on the batch; plug-ins are fed by a workload of `model/`. `streaming.rs` drives
//!    engines that answer each sample for itself, token by token: `tokens.rs`, and serving engines behind `served/` and `kserve/`.
//! 4. `sample/replies.rs`: each sample's reply goes back on its stream.
//!
//! Around them: `settings/` resolves what the operator gave, `process/` has the servers and the watchdog, `fabric/` measures the network to
//! other nodes, `in_process.rs` and `bench.rs` feed the engines without a network, `check.rs` is asked before a start, `doctor.rs` looks at
//! the machine. `ground/` is used by all and uses none. Rooms only declare their files; a file names what it uses by the path of its
//! declaration, and no two files or rooms use each other.
//!
//! [`main_with`] is the program. [`InProcess`] is for tools, and the feature `fuzzing` opens what fuzz targets call.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod batching;
mod bench;
mod check;
mod command;
mod doctor;
mod engine;
mod fabric;
#[cfg(test)]
#[path = "../../tests/src/fake_server.rs"]
mod fake_server;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod ground;
mod in_process;
mod intake;
mod model;
mod process;
mod sample;
mod settings;
#[cfg(test)]
#[path = "../tests/simulation/mod.rs"]
mod simulation;

pub use check::check;
pub use command::main_with;
pub use in_process::InProcess;
pub use model::identity::Model;
pub use process::error::NodeError;
pub use settings::{args::Args, config::Config};
