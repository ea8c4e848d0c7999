//! Serving engines over HTTP. A `client.rs` sends the request. The response arrives as `events.rs`,
//! which a dialect reads.

pub(super) mod client;
mod completions;
mod connection_pool;
pub(super) mod dialect;
pub(super) mod events;
mod fault;
mod llamacpp;
mod sglang;
