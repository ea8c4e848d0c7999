//! Serving engines behind the node: a streaming request for each sample, with token ids in both
//! directions.
//!
//! `load.rs` probes the servers once (`probe.rs`), then creates the instances. For each sample,
//! `exchange.rs` sends a request to one of the servers (`remote/`), over HTTP (`client.rs`). A
//! dialect (`dialect.rs`), the form of one product such as vLLM, turns the events of the response
//! (`events.rs`) into chunks. `output.rs` joins the chunks, and fails rather than return ids that
//! may be wrong.

mod client;
mod completions;
mod connection_pool;
mod dialect;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod dry_run;
mod events;
mod exchange;
mod llamacpp;
pub(super) mod load;
mod output;
mod probe;
pub(super) mod settings;
mod sglang;

#[cfg(test)]
#[path = "../../../tests/served/mod.rs"]
mod tests;
