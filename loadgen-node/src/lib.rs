//! The LoadGen node: official LoadGen, Query Sample Library, Query Dispatch Library, and what comes out.
//!
//! - `settings/`: the keys of command line and settings file, and the run that they resolve to, once
//! - `run/`: a run, from its settings to `result.json`. `library.rs` is the QSL, `sut.rs` joins LoadGen and the QDL,
//!   `conclude.rs` reads what LoadGen wrote and says what it means
//! - `fabric/`: what the network can carry
//! - `doctor/`: what keeps this machine, or the way to a node, from measuring well
//! - `probe/`: one sample to every node, and its answer
//! - `evaluation/`: the accuracy of a run by the official script
//! - `comparison/`: runs beside runs
//! - `recording/`: what a run leaves beside its result, so that it can be looked at
//! - `report/`: tables for the terminal, and pictures
//! - `commands/`: the subcommands, a file for each
//!
//! The rules themselves are a crate of their own, `netdiv-rules`.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod claim;
mod commands;
mod comparison;
mod doctor;
mod error;
mod evaluation;
mod fabric;
mod output;
mod probe;
mod recording;
mod report;
mod run;
mod settings;
mod sources;

pub use commands::{Cli, Command, exit_code};
pub use error::RunError;
pub use netdiv_rules::{official_log, result};
pub use run::{cpu_seconds, process};
pub use settings::{DiscoveryArgs, NetworkArgs, ObserveArgs, RunArgs, RunConfig, TableArgs};
pub use sources::SOURCES;
