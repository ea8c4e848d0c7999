//! Engines, which run the model.
//!
//! `list.rs` lists the engines. The settings of each (`settings.rs`) create its instances
//! (`interface.rs`). `pool.rs` runs each instance on its own thread (`thread.rs`), or in a task if
//! it computes nothing (`task.rs`). All instances of a node take samples from one queue. Their
//! replies go to the clients' streams at the end of a batch (`answer.rs`), or for each sample
//! separately (`sink.rs`).

pub(crate) mod answer;
pub(crate) mod batched;
mod decoder;
mod echo;
pub(crate) mod interface;
mod kserve;
mod libtorch;
pub(crate) mod list;
pub(crate) mod none;
mod onnx;
mod onnx_file;
#[cfg(test)]
mod overlap_tests;
pub(crate) mod plugin;
pub(crate) mod pool;
pub(crate) mod python;
mod remote;
mod served;
pub(crate) mod settings;
pub(crate) mod shared_args;
pub(crate) mod sink;
pub(crate) mod streaming;
pub(crate) mod task;
pub(crate) mod thread;
mod timer;
mod tokens;
pub(crate) mod work;

pub(crate) use self::plugin::open::devices;
#[cfg(feature = "fuzzing")]
pub(crate) use self::{
    kserve::output::read_stream,
    served::{dry_run::read_answer, settings::Dialect},
};
