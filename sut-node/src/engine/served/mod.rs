//! Serving engines behind the node: a streaming request for each sample, with token ids in both
//! directions.
//!
//! `load.rs` probes the servers once (`probe.rs`), then creates the instances (`engine.rs`). An
//! `exchange.rs` sends a sample to one of the servers (`remote/`), over HTTP with events
//! (`openai/`). Each part of a response is read into a `chunk.rs` and joined to an `output.rs`,
//! which fails rather than return ids that may be wrong.

mod chunk;
mod connections;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod dry_run;
mod engine;
mod exchange;
pub(super) mod load;
mod openai;
mod output;
mod probe;

#[cfg(test)]
#[path = "../../../tests/served/mod.rs"]
mod tests;
