//! Settings: the keys of the command line and the file, and their resolved form.

mod applies;
pub(crate) mod args;
pub(crate) mod config;
pub(crate) mod decoder;
pub(crate) mod echo;
pub(crate) mod engine;
pub(crate) mod engine_choice;
pub(crate) mod error;
pub(crate) mod fabric;
pub(crate) mod kserve;
pub(crate) mod network;
pub(crate) mod onnx;
pub(crate) mod plugin;
pub(crate) mod published;
pub(crate) mod served;
pub(crate) mod token_room;
pub(crate) mod tokens;
