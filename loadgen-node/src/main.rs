//! `loadgen-node`: the LoadGen node.

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use loadgen_node::{FabricArgs, NetworkArgs, RunArgs, RunError, say};
use netdiv_transport::security::make_certificates;
use node_process::SettingsError;
use serde::{Serialize, de::DeserializeOwned};
use tracing::error;

/// The LoadGen node of the MLPerf Inference Network division: runs the official LoadGen against SUT nodes.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run LoadGen. Exit code 0: valid or complete; 1: finished, not valid; 2: settings, files or nodes do not
    /// allow a run; 3: the run failed
    Run {
        #[command(flatten)]
        layers: Layers,
        #[command(flatten)]
        args: Box<RunArgs>,
    },
    /// Say what the network costs: the same run over the loopback interface and in one process, in turn
    #[cfg(feature = "in-process")]
    Tax(loadgen_node::TaxArgs),
    /// Measure what the network to the nodes can carry; they run with --engine none. Exit code 0: measured, and every
    /// target is carried; 1: a target is not; 2: settings or nodes do not allow it; 3: a node was lost
    Fabric {
        #[command(flatten)]
        layers: Layers,
        #[command(flatten)]
        args: FabricArgs,
    },
    /// Make certificates for a lab: an authority (ca.pem), one certificate and key for each node (HOST.pem,
    /// HOST.key), and one for LoadGen nodes (client.pem, client.key)
    Certificates {
        /// Names or IP addresses by which the nodes are reached
        #[arg(long, value_name = "HOST", value_delimiter = ',', required = true)]
        hosts: Vec<String>,
        /// Folder for the files; none of them may exist
        #[arg(long, value_name = "DIR", default_value = "certificates")]
        output: PathBuf,
    },
    /// Run the compliance tests that the benchmark demands, and verify them. Exit code 0: all pass; 1: one does not; 2:
    /// files or settings do not allow it; 3: a run failed
    Audit(loadgen_node::AuditArgs),
    /// Go through the rules of the Network division, N1 to N38, over a run or a submission. Exit code 0: none is broken; 1:
    /// one is; 2: the folder is neither
    Check(loadgen_node::CheckArgs),
    /// Make a submission of runs
    Submission(loadgen_node::SubmissionArgs),
    /// Say how long a run takes, how many queries it has, and what bandwidth it needs
    Plan(loadgen_node::PlanArgs),
    /// Show the benchmarks of the suite and what the rules ask of each
    Benchmarks(loadgen_node::BenchmarksArgs),
    /// Show who the nodes are
    Nodes {
        #[command(flatten)]
        layers: Layers,
        #[command(flatten)]
        args: NetworkArgs,
    },
}

#[derive(Debug, clap::Args)]
struct Layers {
    /// Settings file; its keys are the options, with underscores
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the settings as TOML and exit
    #[arg(long)]
    print_config: bool,
}

impl Layers {
    /// The settings of file and command line; `None` when they were only to be printed.
    fn settings<T: clap::Args + Serialize + DeserializeOwned>(
        &self,
        args: &T,
        check: impl Fn(&T) -> Result<(), RunError>,
    ) -> Result<Option<T>, RunError> {
        let usage = |error: SettingsError| RunError::Usage(error.to_string());
        let settings = node_process::layered(args, self.config.as_deref()).map_err(usage)?;
        check(&settings)?;
        if !self.print_config {
            return Ok(Some(settings));
        }
        let text = toml::to_string(&settings).map_err(|e| RunError::Usage(e.to_string()))?;
        say(text.trim_end())?;
        Ok(None)
    }
}

fn main() -> ExitCode {
    node_process::start_logging("info");
    match execute(Cli::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn execute(cli: Cli) -> Result<u8, RunError> {
    match cli.command {
        Command::Run { layers, args } => match layers.settings(args.as_ref(), RunArgs::check)? {
            None => Ok(0),
            Some(args) => Ok(loadgen_node::exit_code(loadgen_node::run(args)?)),
        },
        #[cfg(feature = "in-process")]
        Command::Tax(args) => loadgen_node::tax(&args).map(|()| 0),
        Command::Fabric { layers, args } => match layers.settings(&args, FabricArgs::check)? {
            None => Ok(0),
            Some(args) => Ok(u8::from(!loadgen_node::fabric(&args)?)),
        },
        Command::Certificates { hosts, output } => {
            let written = make_certificates(&output, &hosts)
                .map_err(|error| RunError::Usage(error.to_string()))?;
            say(format_args!("{} in {}", written.join(", "), output.display()))?;
            Ok(0)
        }
        Command::Audit(args) => Ok(u8::from(!loadgen_node::audit(&args)?)),
        Command::Check(args) => Ok(u8::from(!loadgen_node::check(&args)?)),
        Command::Submission(args) => loadgen_node::submission(&args).map(|()| 0),
        Command::Plan(args) => loadgen_node::plan(&args).map(|()| 0),
        Command::Benchmarks(args) => loadgen_node::benchmarks(&args).map(|()| 0),
        Command::Nodes { layers, args } => {
            if let Some(args) = layers.settings(&args, NetworkArgs::check)? {
                loadgen_node::print_nodes(&args)?;
            }
            Ok(0)
        }
    }
}
