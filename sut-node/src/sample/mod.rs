//! A sample at the node: its place among those admitted, its session, and its way back.

pub(crate) mod admission;
mod ahead;
pub(crate) mod backlog;
pub(crate) mod digests;
pub(crate) mod queued;
pub(crate) mod replies;
pub(crate) mod sessions;
pub(crate) mod streams;
