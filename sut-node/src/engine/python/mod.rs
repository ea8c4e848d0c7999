//! Engines in Python: a worker process for each instance (`worker/`) runs a user's class.
//!
//! `load.rs` has the settings and starts the processes; `manifest.rs` reads the manifest beside the
//! class. `tensors.rs` runs batches in a process, `tokens.rs` streams the outputs of a language model
//! from it.

pub(crate) mod load;
pub(crate) mod manifest;
mod outcomes;
mod tensors;
mod tokens;
