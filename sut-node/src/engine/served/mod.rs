//! Serving engines behind the node: a streaming request for each sample, token ids in and token ids back.
//!
//! `load.rs` asks the servers once (`probe.rs`), then makes the instances (`engine.rs`). A sample is an `exchange.rs` with one
//! of the servers (`remote/`), over HTTP with events (`openai/`). Each part of an answer is read into a `chunk.rs` and joined to an `output.rs`, which fails rather than give ids that may be wrong.

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
