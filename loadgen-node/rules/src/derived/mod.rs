//! Parts of a submission that are generated from its runs; `check` regenerates and compares them.

pub(crate) mod cluster;
pub(crate) mod description;
pub(crate) mod markdown;
pub(crate) mod network;
pub mod readme;
