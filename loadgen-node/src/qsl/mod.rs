//! The Query Sample Library: samples loaded into memory, as they will go over the network, and the files that describe them.

pub(crate) mod labels;
pub(crate) mod library;
pub(crate) mod prompts;
pub(crate) mod witness;
