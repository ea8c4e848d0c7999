//! Code that both programs share, independent of the wire contract.
//!
//! - [`words`]: enumerations of the rules and of the settings
//! - [`sanitise`]: sanitising of text from peers for display
//! - [`resources`]: files, memory, open files and threads, within limits
//! - `process`, with the feature of that name: settings from a file and the command line, logging,
//!   signals, cores
//! - `metrics`, with the feature `process`: names of the metrics, and the endpoint for Prometheus

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

#[cfg(feature = "process")]
pub mod metrics;
#[cfg(feature = "process")]
pub mod process;
pub mod resources;
pub mod sanitise;
pub mod words;
