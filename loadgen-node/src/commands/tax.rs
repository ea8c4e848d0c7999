//! `loadgen-node tax`: the cost of the network. Runs the same test over the network and in one
//! process, in turn.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use clap::value_parser;
use netdiv_node_common::resources::files;
use serde::Deserialize;
use tracing::info;

use crate::{
    RunError,
    output::{self, say},
    record::{RunResult, Verdict},
    recording,
    report::tax::{Round, render},
};

/// Options of `loadgen-node tax`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Measurement")]
pub(crate) struct TaxArgs {
    /// Settings file of a SUT node, for the node that is started and for the run in one process
    #[arg(long, value_name = "FILE")]
    node_config: PathBuf,
    /// Program of the node [default: sut-node beside this program]
    #[arg(long, value_name = "FILE")]
    sut_node: Option<PathBuf>,
    /// Number of rounds; each runs both
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u64).range(1..=1000))]
    rounds: u64,
    /// Folder for the runs
    #[arg(long, value_name = "DIR", default_value = "out/tax")]
    output: PathBuf,
    /// Option for the runs over the network only, such as --network-option=--transport=quic; may be
    /// repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    network_option: Vec<String>,
    /// Options of `loadgen-node run` for both runs: scenario, data set, settings
    #[arg(last = true, required = true)]
    run: Vec<String>,
}

impl TaxArgs {
    /// Runs the test over the network and in one process in each round, and prints the ratios. Odd
    /// rounds begin with the network.
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        super::run::find_tool()?;
        let _claim = output::prepare(&self.output)?;
        let mut rounds = Vec::new();
        for number in 1..=self.rounds {
            let folder = |kind: &str| self.output.join(format!("{number}-{kind}"));
            let over_network = || over_network(self, &folder("network"));
            let in_process = || in_process(self, &folder("in-process"));
            let (network, in_process) = if number % 2 == 1 {
                let network = over_network()?;
                (network, in_process()?)
            } else {
                let in_process = in_process()?;
                (over_network()?, in_process)
            };
            let ratio = ratio(&network, &in_process)?;
            info!("round {number} of {}: network / one process {ratio:.4}", self.rounds);
            rounds.push(Round { network, in_process, ratio });
        }
        say(render(&rounds))?;
        Ok(0)
    }
}

/// Returns the ratio of rates, or the inverse ratio of latencies: below 1 the network costs
/// something.
fn ratio(network: &RunResult, alone: &RunResult) -> Result<f64, RunError> {
    let value = |result: &RunResult| {
        let metric = result.metric.as_ref().filter(|_| result.verdict != Verdict::Failed);
        metric.map(|metric| (metric.value, metric.unit == "ns"))
    };
    match (value(network), value(alone)) {
        (Some((network, is_time)), Some((alone, _))) if network > 0.0 && alone > 0.0 => {
            Ok(if is_time { alone / network } else { network / alone })
        }
        _ => Err(RunError::Failed("a run has no figure to compare; see its result.json".into())),
    }
}

fn over_network(args: &TaxArgs, folder: &Path) -> Result<RunResult, RunError> {
    let node = LocalNode::start(args)?;
    let mut target = vec!["--nodes".into(), node.address.clone().into()];
    target.extend(args.network_option.iter().map(OsString::from));
    run(args, folder, &target)
}

fn in_process(args: &TaxArgs, folder: &Path) -> Result<RunResult, RunError> {
    run(args, folder, &["--in-process".into(), args.node_config.clone().into()])
}

/// Runs this program in a new process, because LoadGen runs once per process.
fn run(args: &TaxArgs, folder: &Path, target: &[OsString]) -> Result<RunResult, RunError> {
    let program = std::env::current_exe().map_err(RunError::failed)?;
    let ran = netdiv_node_common::process::program(&program)
        .arg("run")
        .args(&args.run)
        .args(target)
        .arg("--output")
        .arg(folder)
        .stdout(Stdio::null())
        .status()
        .map_err(RunError::failed)?;
    // 1: finished, not valid; the table shows it.
    if !matches!(ran.code(), Some(0 | 1)) {
        return Err(RunError::Failed(format!("`loadgen-node run` ended with {ran}")));
    }
    recording::read_result(folder).map_err(RunError::Failed)
}

/// Interval at which the ready file is read.
const PERIOD: Duration = Duration::from_millis(5);

/// Content of a node's ready file.
#[derive(Deserialize)]
struct ReadyFile {
    grpc: Option<String>,
    quic: Option<String>,
    pid: u32,
}

/// SUT node on this machine. Dropping it ends its process.
struct LocalNode {
    child: Child,
    address: String,
}

impl LocalNode {
    fn start(args: &TaxArgs) -> Result<Self, RunError> {
        let own = std::env::current_exe().unwrap_or_default();
        let program = args.sut_node.clone().unwrap_or_else(|| own.with_file_name("sut-node"));
        let failed = |why: String| RunError::Usage(format!("{}: {why}", program.display()));
        let unusable = |error: io::Error| failed(error.to_string());
        let ready_file = args.output.join("node.json");
        // The node has only the settings of the file, as in one process.
        let child = netdiv_node_common::process::program(&program)
            .arg("--config")
            .arg(&args.node_config)
            .args(["--listen", "127.0.0.1:0", "--name", "tax", "--ready-file"])
            .arg(&ready_file)
            .spawn()
            .map_err(unusable)?;
        // From here on, dropping the node ends it.
        let mut node = Self { child, address: String::new() };
        loop {
            if let Some(ready) = read_ready(&ready_file).filter(|r| r.pid == node.child.id()) {
                node.address = ready
                    .grpc
                    .or(ready.quic)
                    .ok_or_else(|| failed("its ready file has no address".into()))?;
                return Ok(node);
            }
            if let Some(status) = node.child.try_wait().map_err(unusable)? {
                return Err(failed(format!("ended before it was ready ({status}); see its log")));
            }
            thread::sleep(PERIOD);
        }
    }
}

/// Reads the ready file. The node writes it completely once it is ready; until then it is missing,
/// or belongs to an earlier node.
fn read_ready(file: &Path) -> Option<ReadyFile> {
    serde_json::from_str(&files::read_text(file).ok()?).ok()
}

impl Drop for LocalNode {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
