//! Intake: from the network to the batcher, and the node's answers about itself.

pub(crate) mod evidence;
pub(crate) mod node_state;
mod reading;
pub(crate) mod service;
