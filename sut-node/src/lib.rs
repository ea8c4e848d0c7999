//! A SUT node: takes samples from the network, batches them, runs the model, sends the responses back.
//!
//! Reading order, along the life of a sample:
//!
//! 1. `service.rs`: a stream's samples are read, admitted (`admission.rs`) and decoded.
//! 2. `batcher.rs` decides when a batch closes; `queue.rs` lets engine threads wait for it.
//! 3. `engine_thread.rs` runs an [`engine`] on the batch; plug-ins are fed by a `workload`.
//! 4. `replies.rs`: each sample's reply goes back on its stream.
//!
//! `streams.rs` knows what is open, `condition.rs` whether the node takes calls, `watchdog.rs` whether engines come back.
//! `engine_pool.rs` loads and warms the engines; `in_process.rs` feeds them without a network.
//!
//! [`run`] is the real program; `main.rs` only reads settings and calls it.

mod admission;
mod batcher;
mod bench;
mod clock;
mod condition;
mod config;
mod digests;
pub mod engine;
mod engine_pool;
mod engine_thread;
mod error;
mod identity;
mod in_process;
mod manifest;
mod metrics;
mod network;
mod observe;
mod queue;
mod replies;
mod server;
mod service;
mod sessions;
#[cfg(test)]
mod simulation;
mod streams;
mod watchdog;
mod workload;

pub use bench::{BenchArgs, BenchError, BenchReport, bench};
pub use config::{
    Args, Batching, BatchingArgs, Config, ConfigError, EchoConfig, EngineArgs, EngineConfig,
    OnnxConfig, Postprocess,
};
pub use error::NodeError;
pub use in_process::InProcess;
pub use manifest::{Dimension, Manifest, ManifestError, Shape};
pub use network::{Network, NetworkArgs, NetworkError, Sockets};
pub use server::run;
pub use workload::DryRun;

/// Locks a mutex whose holder may have panicked: what our locks guard is valid at every step.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
