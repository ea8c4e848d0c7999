//! What runs a model.

pub(crate) mod answer;
pub(crate) mod batched;
mod decoder;
mod echo;
pub(crate) mod error;
pub(crate) mod interface;
mod kserve;
mod libtorch;
pub(crate) mod load;
pub(crate) mod none;
pub(crate) mod one_by_one;
mod onnx;
mod onnx_data;
mod onnx_file;
#[cfg(test)]
mod overlap_tests;
mod plugin;
pub(crate) mod pool;
mod remote;
mod served;
mod sink;
pub(crate) mod streaming;
pub(crate) mod task;
pub(crate) mod thread;
mod timer;
mod tokens;
pub(crate) mod work;
mod workload;

pub use self::{
    error::EngineError,
    interface::{Engine, EngineKind, Inference, StreamingEngine, WaitingEngine},
    kserve::dry_run::read_stream,
    load::load,
    plugin::open::devices,
    served::dry_run::read_answer,
    sink::Sink,
};
