//! The LoadGen node: official LoadGen, Query Sample Library, Query Dispatch Library, and what comes out.
//!
//! - `settings/`: the keys of command line and settings file, and the run that they resolve to, once
//! - `qsl/`: the Query Sample Library, and the files that describe its samples
//! - `run/`: a run, from its settings to `result.json`: `setup/` checks it before LoadGen starts, `system.rs` runs LoadGen, `sut.rs` joins
//!   LoadGen and the QDL, `progress/` and `guard/` watch, `outcome/` goes from the logs to a verdict
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
#[cfg(test)]
#[path = "../../tests/src/npy_file.rs"]
mod npy_file;
mod output;
mod own_loadgen;
mod qsl;
mod recording;
mod report;
mod run;
mod settings;
mod sources;
mod units;

use std::{env, process::ExitCode};

use commands::Cli;
pub use commands::exit_code;
pub use error::RunError;
pub use netdiv_rules::{official_log, record};
pub use qsl::library::Library;
pub use run::{
    Counted, InProcess, LoadGenTest, Reading, Start, System, cpu_seconds, failure_text,
    node_record, process,
};
pub use settings::{DiscoveryArgs, NetworkArgs, ObserveArgs, RunArgs, RunConfig, TableArgs};
pub use sources::SOURCES;
use tracing::error;

/// Does what the command line asks for, and returns the exit code.
///
/// # Errors
///
/// The exit code of a process that must not begin, or was asked for help; the reason has been printed.
pub fn main(in_process: Option<InProcess>) -> Result<u8, ExitCode> {
    let _logging = netdiv_node_common::process::start_logging(
        "info",
        netdiv_node_common::process::Lines::All,
    )?;
    let cli: Cli = netdiv_node_common::process::parse(env::args_os())
        .map_err(|error| netdiv_node_common::process::refused(&error))?;
    Ok(cli.execute(in_process).unwrap_or_else(|error| {
        error!("{error}");
        error.exit_code()
    }))
}
