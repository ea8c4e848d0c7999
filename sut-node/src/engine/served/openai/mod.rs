//! Serving engines over HTTP. A `client.rs` sends the request. The response arrives as `events.rs`,
//! which a dialect reads.

pub(super) mod answer;
pub(super) mod client;
mod completions;
pub(super) mod dialect;
pub(super) mod events;
mod fault;
mod links;
mod llamacpp;
mod retry_after;
mod sglang;
