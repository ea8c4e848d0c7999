//! Engines, which run the model.
//!
//! `load.rs` creates the instances of the configured engine (`interface.rs`). `pool.rs` runs each
//! instance on its own thread (`thread.rs`), or in a task if it computes nothing (`task.rs`). All
//! instances of a node take samples from one queue. Their replies go to the clients' streams at the
//! end of a batch (`answer.rs`), or for each sample separately (`sink.rs`).

pub(crate) mod answer;
pub(crate) mod batched;
mod decoder;
mod echo;
pub(crate) mod interface;
mod kserve;
mod libtorch;
pub(crate) mod load;
pub(crate) mod none;
mod onnx;
mod onnx_data;
mod onnx_file;
#[cfg(test)]
mod overlap_tests;
mod plugin;
pub(crate) mod pool;
mod python;
mod remote;
pub(crate) mod sequential;
mod served;
pub(crate) mod sink;
pub(crate) mod streaming;
pub(crate) mod task;
pub(crate) mod thread;
mod timer;
mod tokens;
pub(crate) mod work;
mod workload;

#[cfg(feature = "fuzzing")]
pub(crate) use self::{kserve::output::read_stream, served::dry_run::read_answer};
pub(crate) use self::{load::load, plugin::open::devices};
