//! `loadgen-node tax`: what the network costs. The same run over the network and in one process, in turn.

use std::{
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use crate::{
    RunError,
    output::{self, say},
    result::{RunResult, Verdict},
};

/// Keys of `loadgen-node tax`.
#[derive(Debug, Clone, clap::Args)]
pub struct TaxArgs {
    /// Settings file of a SUT node, for the node that is started and for the run in one process
    #[arg(long, value_name = "FILE")]
    pub node_config: PathBuf,
    /// The program of the node [default: sut-node beside this program]
    #[arg(long, value_name = "FILE")]
    pub sut_node: Option<PathBuf>,
    /// How often both are run
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub rounds: usize,
    /// Folder for the runs
    #[arg(long, value_name = "DIR", default_value = "out/tax")]
    pub output: PathBuf,
    /// An option of the runs over the network alone, such as --network-option=--transport=quic; any number of them
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub network_option: Vec<String>,
    /// Options of `loadgen-node run`, for both: scenario, data set, settings
    #[arg(last = true, required = true)]
    pub run: Vec<String>,
}

/// Runs both, as often as asked, and prints the ratio. An odd round begins with the network.
pub fn tax(args: &TaxArgs) -> Result<(), RunError> {
    if args.rounds == 0 {
        return Err(RunError::Usage("--rounds: must not be 0".into()));
    }
    let mut ratios = Vec::new();
    say("  round      network  p99, ms   one process  p99, ms   network / one process")?;
    for round in 1..=args.rounds {
        let folder = |kind: &str| args.output.join(format!("{round}-{kind}"));
        let (network, alone) = match round % 2 {
            1 => {
                let network = over_network(args, &folder("network"))?;
                (network, in_process(args, &folder("in-process"))?)
            }
            _ => {
                let alone = in_process(args, &folder("in-process"))?;
                (over_network(args, &folder("network"))?, alone)
            }
        };
        let ratio = ratio(&network, &alone)?;
        let (network, alone) = (in_words(&network), in_words(&alone));
        say(format_args!("  {round:>5} {network} {alone}   {ratio:>10.4}"))?;
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let median = (ratios[(ratios.len() - 1) / 2] + ratios[ratios.len() / 2]) / 2.0;
    let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
    let rounds = ratios.len();
    say(format_args!("  median {median:.4}, {least:.4} to {most:.4} in {rounds} rounds"))?;
    say("  (! not valid; on one machine, so no result of the Network division)")?;
    Ok(())
}

/// A rate's ratio, or a latency's inverse one: below 1 the network costs something.
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

/// The metric and the 99th percentile of the latency; a mark where LoadGen does not call the run valid.
fn in_words(result: &RunResult) -> String {
    let value = result.metric.as_ref().map_or(0.0, |metric| metric.value);
    let p99_ms = result.loadgen_latency_ns.get("99.00").map_or(0.0, |ns| ns / 1e6);
    let verdict = if result.verdict == Verdict::Valid { ' ' } else { '!' };
    format!("{value:>12.1}{verdict} {p99_ms:>7.2}")
}

fn over_network(args: &TaxArgs, folder: &Path) -> Result<RunResult, RunError> {
    let node = Node::start(args)?;
    let mut target = vec!["--nodes".into(), node.address.clone().into()];
    target.extend(args.network_option.iter().map(OsString::from));
    run(args, folder, &target)
}

fn in_process(args: &TaxArgs, folder: &Path) -> Result<RunResult, RunError> {
    run(args, folder, &["--in-process".into(), args.node_config.clone().into()])
}

/// Runs this program again: LoadGen runs once in a process.
fn run(args: &TaxArgs, folder: &Path, target: &[OsString]) -> Result<RunResult, RunError> {
    let failed = |why: String| RunError::Failed(why);
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let ran = Command::new(program)
        .arg("run")
        .args(&args.run)
        .args(target)
        .arg("--output")
        .arg(folder)
        .stdout(Stdio::null())
        .status()
        .map_err(|error| failed(error.to_string()))?;
    // 1: finished and not valid, which the table shows.
    if !matches!(ran.code(), Some(0 | 1)) {
        return Err(failed(format!("`loadgen-node run` ended with {ran}")));
    }
    let path = folder.join(output::RESULT);
    let bad = |why: String| failed(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(&path).map_err(|error| bad(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| bad(error.to_string()))
}

/// A SUT node on this machine; ended with the value.
struct Node {
    child: Child,
    address: String,
}

impl Node {
    fn start(args: &TaxArgs) -> Result<Self, RunError> {
        let own = std::env::current_exe().unwrap_or_default();
        let program = args.sut_node.clone().unwrap_or_else(|| own.with_file_name("sut-node"));
        let failed = |why: String| RunError::Usage(format!("{}: {why}", program.display()));
        let child = Command::new(&program)
            .arg("--config")
            .arg(&args.node_config)
            .args(["--listen", "127.0.0.1:0", "--name", "tax"])
            .env("RUST_LOG", "info")
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        // From here on, dropping the node ends it.
        let mut node = Self { child, address: String::new() };
        let mut log =
            BufReader::new(node.child.stderr.take().ok_or_else(|| failed("has no log".into()))?);
        let mut seen = String::new();
        while node.address.is_empty() {
            let mut line = String::new();
            if log.read_line(&mut line).map_err(|error| failed(error.to_string()))? == 0 {
                return Err(failed(format!("did not become ready:\n{seen}")));
            }
            if let Some((_, rest)) = line.split_once(" ready node=")
                && let Some((_, port)) = rest.split_once("127.0.0.1:")
            {
                let port: String = port.chars().take_while(char::is_ascii_digit).collect();
                node.address = format!("127.0.0.1:{port}");
            }
            seen.push_str(&line);
        }
        // The node must not wait for somebody to read on.
        thread::spawn(move || std::io::copy(&mut log, &mut std::io::stderr()));
        Ok(node)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
