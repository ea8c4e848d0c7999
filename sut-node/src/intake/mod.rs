//! From the network to the batcher, and back.

pub(crate) mod admission;
mod ahead;
pub(crate) mod backlog;
pub(crate) mod digests;
pub(crate) mod node;
mod reading;
pub(crate) mod replies;
pub(crate) mod service;
pub(crate) mod sessions;
pub(crate) mod streams;
