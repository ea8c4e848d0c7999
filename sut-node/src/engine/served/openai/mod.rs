//! Serving engines over HTTP. A request goes out over a `client.rs`; the answer comes as `events.rs`, each read by a dialect.

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
