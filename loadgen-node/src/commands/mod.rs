//! The subcommands, a file for each. `execute` does what the keys say and returns the process's exit code.

mod accuracy;
mod audit;
mod benchmarks;
mod certificates;
mod check;
mod compare;
mod doctor;
mod fabric;
mod ids;
mod in_process;
mod init;
mod keys;
mod nodes;
mod plan;
mod probe;
mod report;
mod run;
mod submission;
mod tax;

use clap::{CommandFactory as _, Parser, Subcommand};
use netdiv_node_common::process::ShellCommand;

pub use self::run::exit_code;
use crate::{RunError, own_loadgen, run::InProcess};

/// The LoadGen node of the MLPerf Inference Network division: runs the official LoadGen against SUT nodes.
#[derive(Debug, Parser)]
#[command(name = "loadgen-node", version, long_version = own_loadgen::version())]
pub(crate) struct Cli {
    #[command(flatten)]
    log: netdiv_node_common::process::LogArgs,
    #[command(subcommand)]
    command: Command,
}

/// What `loadgen-node` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write settings files to begin with, run.toml, node.toml, user.conf and submission.toml, and tell what to do with them
    Init(init::InitArgs),
    /// Run LoadGen. Exit code 0: valid or complete; 1: finished, not valid; 2: settings, files or nodes do not allow a run;
    /// 3: the run failed
    Run(Box<run::RunCommand>),
    /// Make a page of runs, for people to look at: verdict, latencies, what happened second by second, nodes side by side,
    /// settings, machines and rules. Exit code 2: a folder holds no run; 3: the page cannot be written
    Report(report::ReportArgs),
    /// Compare runs, or folders of repeated runs, with a baseline: what differs in settings and machines, and what that changed,
    /// with the noise. Exit code 0: nothing is worse, or the noise is unknown; 1: something is worse, beyond --tolerance and the
    /// noise; 2: they cannot be compared
    Compare(compare::CompareArgs),
    /// Measure what the network costs: the same run over the loopback interface and in one process, in turn
    Tax(tax::TaxArgs),
    /// Send one sample to every node, twice, and show what it answers, before a run is spent on them. Exit code 0: all answer, and
    /// alike; 1: there is a problem, or what --fail-on names; 2: settings or files do not allow it; 3: it failed, or the report
    /// cannot be written
    Probe(Box<probe::ProbeCommand>),
    /// Look at this machine, and at the ways to the nodes where some are named: what keeps a run with these settings from
    /// measuring well, what that costs, and what fixes it. It changes nothing. Exit code 0: no problem; 1: there is one, or what
    /// --fail-on names; 2: settings or files do not allow looking; 3: it failed, or the report cannot be written
    Doctor(Box<doctor::DoctorCommand>),
    /// Measure what the network to the nodes can carry; they run with --engine none. Exit code 0: measured, and every
    /// target is carried; 1: a target is not; 2: settings or nodes do not allow it; 3: a node was lost
    Fabric(Box<fabric::FabricCommand>),
    /// Make certificates for a lab: an authority (ca.pem), one certificate and key for each node (HOST.pem,
    /// HOST.key), and one for LoadGen nodes (client.pem, client.key)
    Certificates(certificates::CertificatesArgs),
    /// Compute the metric of an accuracy run with the benchmark's official script, and write accuracy.txt beside its log. Exit code 0:
    /// every target is reached; 1: one is not; 2: files or settings do not allow it; 3: the script failed
    Accuracy(accuracy::AccuracyArgs),
    /// Run the compliance tests that the benchmark demands, and verify them. Exit code 0: all pass; 1: one does not; 2:
    /// files or settings do not allow it; 3: a run failed
    Audit(audit::AuditArgs),
    /// Check the rules N1 to N38, as far as the division asks for them, over a run or a submission. Exit code 0: none is broken; 1: one
    /// is; 2: the folder is neither
    Check(check::CheckArgs),
    /// Make a submission from runs
    Submission(submission::SubmissionArgs),
    /// Tell how long a run takes, how many queries it has, and what bandwidth it needs
    Plan(plan::PlanArgs),
    /// Show the benchmarks of the suite and what the rules demand of each
    Benchmarks(benchmarks::BenchmarksArgs),
    /// Make a data set of token ids, for a language model, from a .npy, .json or .jsonl file
    Ids(ids::IdsArgs),
    /// Ask the nodes who they are. Exit code 0: all answer; 1: there is a problem, or what --fail-on names; 2: settings or files do
    /// not allow it; 3: it failed, or the report cannot be written
    Nodes(Box<nodes::NodesCommand>),
    /// Completions and man pages.
    #[command(flatten)]
    Shell(ShellCommand),
}

impl Cli {
    /// Does what was asked for, and returns the exit code.
    pub(crate) fn execute(&self, in_process: Option<InProcess>) -> Result<u8, RunError> {
        match &self.command {
            Command::Init(args) => args.execute(),
            Command::Run(command) => command.execute(in_process),
            Command::Report(args) => args.execute(),
            Command::Compare(args) => args.execute(),
            Command::Tax(args) => args.execute(),
            Command::Probe(command) => command.execute(),
            Command::Doctor(command) => command.execute(),
            Command::Fabric(command) => command.execute(),
            Command::Certificates(args) => args.execute(),
            Command::Accuracy(args) => args.execute(),
            Command::Audit(args) => args.execute(),
            Command::Check(args) => args.execute(),
            Command::Submission(args) => args.execute(),
            Command::Plan(args) => args.execute(),
            Command::Benchmarks(args) => args.execute(),
            Command::Ids(args) => args.execute(),
            Command::Nodes(command) => command.execute(),
            Command::Shell(command) => {
                let done = command.execute(Self::command());
                done.map(|()| 0).map_err(|error| RunError::Usage(error.to_string()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_a_heading_and_the_variable_of_its_name() {
        let options = netdiv_node_common::process::check_options(
            &netdiv_node_common::process::command(Cli::command()),
        );
        assert!(options.clone().is_ok_and(|count| count > 80), "{options:?}");
    }
}
