//! A SUT node: receives samples from the network, batches them, runs the model, sends the responses
//! back.
//!
//! Reading order, along the path of a sample:
//!
//! 1. `intake/`: reads, admits and decodes a stream's samples (`service.rs`); each becomes a
//!    `Sample` of `sample/`.
//! 2. `batching/`: `batcher.rs` decides when a batch closes; `queue.rs` lets engines wait for it.
//! 3. `engine/`: `batched.rs` runs an engine on the batch; a workload of `model/` feeds plug-ins.
//!    `streaming.rs` drives engines that answer each sample separately, token by token:
//!    `tokens/`, and serving engines behind `served/` and `kserve/`.
//! 4. `sample/replies.rs`: sends each sample's reply on its stream.
//!
//! The other folders: `settings/` resolves the operator's settings, `process/` has the servers and
//! the watchdog, `fabric/` measures the network to other nodes, and all use `ground/`, which uses
//! none of them. `in_process.rs` and `bench.rs` feed the engines without a network, `check.rs`
//! checks the settings before a start, `try_engine.rs` starts without serving, `doctor.rs` examines
//! the machine. A folder's `mod.rs` only declares its files. A file imports each name from the file
//! that declares it, and no two files or folders use each other.
//!
//! [`main_with`] is the program. [`InProcess`] is for tools, and the feature `fuzzing` exports the
//! functions for fuzz targets.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod batching;
mod bench;
mod check;
mod command;
#[cfg(test)]
#[path = "../../tests/src/command_line.rs"]
mod command_line;
mod doctor;
mod engine;
mod fabric;
#[cfg(test)]
#[path = "../../tests/src/fake_server.rs"]
mod fake_server;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod ground;
mod help;
mod in_process;
mod intake;
mod model;
mod process;
mod sample;
mod settings;
#[cfg(test)]
#[path = "../tests/simulation/mod.rs"]
mod simulation;
mod try_engine;
mod worker;

pub use check::check;
pub use command::main_with;
pub use in_process::InProcess;
pub use model::identity::Model;
pub use process::error::NodeError;
pub use settings::{args::Args, config::Config};
