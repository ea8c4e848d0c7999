//! The subcommands, one file each. `execute` runs a command and returns the process's exit code.

mod accuracy;
mod audit;
mod benchmarks;
mod certificates;
mod check;
mod compare;
mod doctor;
mod fabric;
mod help;
mod ids;
mod init;
mod keys;
mod model;
mod nodes;
mod plan;
mod probe;
mod report;
mod run;
mod submission;
mod sweep;
mod tax;

use clap::{CommandFactory as _, Parser, Subcommand};
use netdiv_node_common::process::{CommandSettings, ShellCommand};

pub use self::run::exit_code;
use crate::{RunArgs, RunError, own_loadgen, run::InProcessEngines};

/// Run the official LoadGen against SUT nodes (MLPerf Inference Network division)
#[derive(Debug, Parser)]
#[command(name = "loadgen-node", version, long_version = own_loadgen::version(), after_help = help::PROGRAM)]
pub(crate) struct Cli {
    #[command(flatten)]
    log: netdiv_node_common::process::LogArgs,
    #[command(subcommand)]
    command: Command,
}

/// Subcommands of `loadgen-node`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write initial settings files for runs and a submission, and list the next steps
    ///
    /// The files are run.toml, node.toml, user.conf and submission.toml.
    #[command(after_help = help::INIT)]
    Init(init::InitArgs),
    /// Run LoadGen against SUT nodes
    #[command(after_help = help::RUN)]
    Run(Box<CommandSettings<RunArgs>>),
    /// Measure the curve of throughput and latency: a run at each of several loads
    ///
    /// Then searches for the highest rate at which a run is VALID, to 5 %. Writes sweep.json,
    /// sweep.csv and report.html, and a folder for each run.
    #[command(after_help = help::SWEEP)]
    Sweep(Box<sweep::SweepCommand>),
    /// Write an HTML report of one or more runs
    ///
    /// The page shows verdict, latencies, the course of the run by the second, nodes side by side,
    /// settings, machines and rules. Other formats are tables in Markdown and CSV.
    #[command(after_help = help::REPORT)]
    Report(report::ReportArgs),
    /// Compare runs, or folders of repeated runs, with a baseline
    ///
    /// Shows the differences in settings and machines, and their effect on the figures, with the
    /// noise.
    #[command(after_help = help::COMPARE)]
    Compare(compare::CompareArgs),
    /// Measure the cost of the network against the same run in one process
    ///
    /// Runs over the loopback interface and in one process, in turn.
    #[command(after_help = help::TAX)]
    Tax(tax::TaxArgs),
    /// Send one sample to every node, twice, and show the responses
    ///
    /// Run it before you spend a run on the nodes.
    #[command(after_help = help::PROBE)]
    Probe(Box<probe::ProbeCommand>),
    /// Find causes of bad measurements on this machine and on the routes to nodes
    ///
    /// Shows what keeps a run with these settings from measuring well, what that costs, and what
    /// fixes it. Examines the routes if nodes are named. It changes nothing.
    #[command(after_help = help::DOCTOR)]
    Doctor(Box<doctor::DoctorCommand>),
    /// Measure the capacity of the network to nodes started with `sut-node --engine none`
    #[command(after_help = help::FABRIC)]
    Fabric(Box<CommandSettings<fabric::FabricArgs>>),
    /// Make certificates for a lab
    ///
    /// Writes an authority (ca.pem), a certificate and key for each node (HOST.pem, HOST.key), and
    /// one for LoadGen nodes (client.pem, client.key).
    #[command(after_help = help::CERTIFICATES)]
    Certificates(certificates::CertificatesArgs),
    /// Compute the metrics of an accuracy run with the benchmark's official script
    ///
    /// Writes accuracy.txt beside the run's log.
    #[command(after_help = help::ACCURACY)]
    Accuracy(accuracy::AccuracyArgs),
    /// Run and verify the compliance tests that a benchmark requires
    #[command(after_help = help::AUDIT)]
    Audit(audit::AuditArgs),
    /// Check a run or a submission against the rules N1 to N38
    ///
    /// Only the rules that its division requires count.
    #[command(after_help = help::CHECK)]
    Check(check::CheckArgs),
    /// Make a submission from runs
    #[command(after_help = help::SUBMISSION)]
    Submission(submission::SubmissionArgs),
    /// Estimate the duration, the queries and the bandwidth of a run
    #[command(after_help = help::PLAN)]
    Plan(plan::PlanArgs),
    /// Show the benchmarks of the suite and what the rules require of each
    #[command(after_help = help::BENCHMARKS)]
    Benchmarks(benchmarks::BenchmarksArgs),
    /// Make a data set of token ids from a .npy, .json or .jsonl file
    ///
    /// The data set is for a language model.
    #[command(after_help = help::IDS)]
    Ids(ids::IdsArgs),
    /// Make the file of a language model from its checkpoint
    ///
    /// The file is for sut-node --model, in front of a serving engine. What the checkpoint does not
    /// state, an option gives.
    #[command(after_help = help::MODEL)]
    Model(model::ModelArgs),
    /// Ask the nodes for their identity
    #[command(after_help = help::NODES)]
    Nodes(Box<nodes::NodesCommand>),
    /// Completions and man pages.
    #[command(flatten)]
    Shell(ShellCommand),
}

impl Cli {
    pub(crate) fn execute(&self, in_process: Option<InProcessEngines>) -> Result<u8, RunError> {
        match &self.command {
            Command::Init(args) => args.execute(),
            Command::Run(settings) => run::execute(settings, in_process),
            Command::Sweep(command) => command.execute(),
            Command::Report(args) => args.execute(),
            Command::Compare(args) => args.execute(),
            Command::Tax(args) => args.execute(),
            Command::Probe(command) => command.execute(),
            Command::Doctor(command) => command.execute(),
            Command::Fabric(settings) => fabric::execute(settings),
            Command::Certificates(args) => args.execute(),
            Command::Accuracy(args) => args.execute(),
            Command::Audit(args) => args.execute(),
            Command::Check(args) => args.execute(),
            Command::Submission(args) => args.execute(),
            Command::Plan(args) => args.execute(),
            Command::Benchmarks(args) => args.execute(),
            Command::Ids(args) => args.execute(),
            Command::Model(args) => args.execute(),
            Command::Nodes(command) => command.execute(),
            Command::Shell(command) => {
                let done = command.execute(Self::command());
                done.map(|()| 0).map_err(RunError::invalid)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_options_and_the_operators_page_are_complete() {
        crate::command_line::check(&Cli::command());
    }
}
