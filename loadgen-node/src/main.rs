//! `loadgen-node`: the LoadGen node.

use std::process::ExitCode;

use clap::Parser;
use loadgen_node::Command;
use tracing::error;

/// The LoadGen node of the MLPerf Inference Network division: runs the official LoadGen against SUT nodes.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    log: netdiv_process::LogArgs,
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let _logging = match netdiv_process::start_logging("info", netdiv_process::Lines::All) {
        Ok(logging) => logging,
        Err(code) => return code,
    };
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return netdiv_process::refused(&error),
    };
    match cli.command.execute() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}
