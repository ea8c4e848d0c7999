//! Serving engines over HTTP: a streaming request for each sample, token ids in and token ids back.
//!
//! `load.rs` asks the servers once, then makes the instances (`engine.rs`). A sample's request is an `exchange.rs` over
//! `client.rs`, with one of the `servers.rs`; the answer comes as `events.rs`, each read by a dialect into a `chunk.rs` and
//! joined to an `output.rs`, which fails rather than give ids that may be wrong.

mod chunk;
mod client;
mod completions;
mod dialect;
pub(super) mod dry_run;
mod engine;
mod events;
mod exchange;
mod fault;
mod llamacpp;
pub(super) mod load;
mod output;
mod probe;
mod servers;
mod sglang;

#[cfg(test)]
mod tests;
