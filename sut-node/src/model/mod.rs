//! The model: its manifest, and the processing before and after it.

pub(crate) mod batching;
pub(crate) mod decoupled;
pub(crate) mod identity;
pub(crate) mod language;
pub(crate) mod manifest;
pub(crate) mod payload;
pub(crate) mod sampling_seed;
pub(crate) mod served_model;
pub(crate) mod token_limits;
pub(crate) mod workload;
pub(crate) mod workloads;
