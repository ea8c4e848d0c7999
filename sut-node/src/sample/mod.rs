//! A sample at the node: its permit, its session, and the channel for its reply.

pub(crate) mod admission;
pub(crate) mod backlog;
pub(crate) mod digests;
mod early_tokens;
pub(crate) mod queued_sample;
pub(crate) mod replies;
pub(crate) mod sessions;
pub(crate) mod streams;
pub(crate) mod token_room;
