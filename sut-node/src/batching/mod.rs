//! Batching: samples become batches.

pub(crate) mod batcher;
pub(crate) mod queue;
