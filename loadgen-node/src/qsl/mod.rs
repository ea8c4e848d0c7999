//! The Query Sample Library: samples in memory, as they are sent over the network, and the files
//! that describe them.

pub(crate) mod labels;
pub(crate) mod library;
pub(crate) mod part;
pub(crate) mod prompts;
pub(crate) mod waveforms;
