//! What runs a model.

pub(crate) mod answer;
pub(crate) mod batched;
mod decoder;
mod echo;
pub(crate) mod error;
pub(crate) mod interface;
mod libtorch;
pub(crate) mod load;
pub(crate) mod none;
pub(crate) mod one_by_one;
mod onnx;
mod onnx_file;
mod openai;
mod plugin;
pub(crate) mod pool;
mod sink;
mod streaming;
pub(crate) mod thread;
mod tokens;
mod work;

pub use self::{
    error::EngineError,
    interface::{Engine, EngineKind, Inference, StreamingEngine},
    load::load,
    openai::dry_run::read_answer,
    plugin::open::devices,
    sink::Sink,
};
