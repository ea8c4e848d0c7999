//! Settings: the keys of the command line and the file, and their resolved form.

pub(crate) mod args;
pub(crate) mod config;
pub(crate) mod decoder;
pub(crate) mod echo;
pub(crate) mod engine;
pub(crate) mod engine_choice;
mod engine_options;
pub(crate) mod error;
pub(crate) mod fabric;
pub(crate) mod kserve;
pub(crate) mod network;
pub(crate) mod onnx;
pub(crate) mod plugin;
pub(crate) mod published;
pub(crate) mod python;
mod python_manifest;
pub(crate) mod serving_engines;
pub(crate) mod token_room;
pub(crate) mod tokens;
