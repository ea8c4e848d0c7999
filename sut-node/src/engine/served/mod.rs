//! Serving engines behind the node: a streaming request for each sample, with token ids in both
//! directions.
//!
//! `load.rs` probes the servers once (`probe.rs`), then creates the instances. For each sample,
//! `exchange.rs` sends a request to one of the servers (`remote/`), over HTTP with events
//! (`openai/`). Each event becomes a chunk (`chunk.rs`). `output.rs` joins the chunks, and
//! fails rather than return ids that may be wrong. A dialect is the form of requests and events of
//! one product, such as vLLM.

mod chunk;
mod connections;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod dry_run;
mod exchange;
pub(super) mod load;
mod openai;
mod output;
mod probe;
pub(super) mod settings;

#[cfg(test)]
#[path = "../../../tests/served/mod.rs"]
mod tests;
