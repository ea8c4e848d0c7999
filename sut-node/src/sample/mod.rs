//! A sample at the node: its permit, its session, and the channel for its reply.

pub(crate) mod admission;
mod ahead;
pub(crate) mod backlog;
pub(crate) mod digests;
pub(crate) mod queued;
pub(crate) mod replies;
pub(crate) mod sessions;
pub(crate) mod streams;
