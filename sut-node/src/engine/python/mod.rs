//! Engines in Python: a worker process for each instance (`worker/`) runs a user's class.
//!
//! `tensors.rs` runs batches in it, `tokens.rs` streams the outputs of a language model from it.

pub(super) mod load;
mod outcomes;
mod tensors;
mod tokens;
