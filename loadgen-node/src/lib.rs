//! The LoadGen node: official LoadGen, Query Sample Library, Query Dispatch Library, and results.
//!
//! The rules are a separate crate, `netdiv-rules`, and so is what connects LoadGen and the QDL,
//! `netdiv-receivers`.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod checkpoint;
mod child_run;
#[cfg(test)]
#[path = "../../tests/src/command_line.rs"]
mod command_line;
mod commands;
mod comparison;
mod doctor;
mod error;
mod evaluation;
mod fabric;
mod folder_lock;
mod live_line;
mod node_times;
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
mod sweep;
mod units;

use std::{env, process::ExitCode};

use clap::CommandFactory as _;
use commands::Cli;
pub use commands::exit_code;
pub use error::RunError;
pub use netdiv_receivers::run_failure;
pub use netdiv_rules::{official_log, record};
pub use qsl::library::Library;
pub use run::{
    InProcessEngines, LoadGenTest, Reading, RunCounters, StartEngines, System, node_record, process,
};
pub use settings::{NetworkArgs, RunArgs, RunConfig, TableArgs};
pub use sources::SOURCES;
use tracing::error;

/// Runs the command line and returns the exit code.
///
/// # Errors
///
/// Returns the exit code of a process that must not begin, or that was asked for help; the reason
/// has been printed.
pub fn main(in_process: Option<InProcessEngines>) -> Result<u8, ExitCode> {
    let _logging = netdiv_node_common::process::start_logging(
        "info",
        netdiv_node_common::process::Lines::All,
    )?;
    let cli: Cli = netdiv_node_common::process::parse(Cli::command(), env::args_os())
        .map_err(|error| netdiv_node_common::process::report_usage_error(&error))?;
    Ok(cli.execute(in_process).unwrap_or_else(|error| {
        error!("{error}");
        error.exit_code()
    }))
}
