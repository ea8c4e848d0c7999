//! Code that both programs share, and nothing of the wire.
//!
//! - [`words`]: the words of the rules and of the settings, each a type
//! - [`said`]: texts of a peer, made fit to be shown
//! - [`resources`]: files, memory, open files and threads, within limits
//! - `process`, with the feature of that name: settings from a file and the command line, logging, signals, cores
//! - `metrics`, with the feature `process`: their names, and the endpoint that Prometheus asks

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

#[cfg(feature = "process")]
pub mod metrics;
#[cfg(feature = "process")]
pub mod process;
pub mod resources;
pub mod said;
pub mod words;
