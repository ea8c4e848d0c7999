//! Intake: from the network to the batcher, and the node's answers about itself.

pub(crate) mod evidence;
mod reading;
pub(crate) mod service;
pub(crate) mod shared;
