//! Soak test of the real programs, run after run, with faults:
//! `soak MINUTES [SEED] [--write FILE]`. It ends with 1 if a sample is unaccounted for, a run
//! hangs, crashes or reports something wrong, or memory grows.
//!
//! - `cluster.rs`: three nodes that live as long as the soak
//! - `plan.rs`: load and fault of each run, from the seed
//! - `fault.rs`: injection of the faults
//! - `account.rs`: invariants of every run
//! - `memory.rs`: resident memory and its slope
//! - `summary.rs`, `figure.rs`: tables and chart

mod account;
mod cluster;
mod fault;
mod figure;
mod memory;
mod plan;
mod summary;

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use e2e::{Outcome, document::Generated};
use rand::{SeedableRng as _, rngs::StdRng};

use crate::{
    account::RunAccount,
    cluster::{NAMES, Node},
    memory::MemoryWatch,
    plan::{Fault, Plan},
    summary::Summary,
};

const USAGE: &str = "usage: soak MINUTES [SEED] [--write FILE]";

const DOCUMENT: Generated = Generated("Soak");

/// File name of the chart, beside the document.
const FIGURE: &str = "soak.svg";

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let (mut numbers, mut document) = (Vec::new(), None);
    while let Some(arg) = args.next() {
        match &arg[..] {
            "--write" => document = Some(PathBuf::from(args.next().ok_or(USAGE)?)),
            _ => numbers.push(arg),
        }
    }
    let minutes: f64 = numbers.first().ok_or(USAGE)?.parse().map_err(|_| USAGE)?;
    let seed: u64 = numbers.get(1).map_or(Ok(1), |seed| seed.parse()).map_err(|_| USAGE)?;
    if let Some(document) = &document {
        DOCUMENT.check(document)?;
    }
    let folder = env::temp_dir().join(format!("netdiv-soak-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    eprintln!("seed {seed}; logs of the nodes and of faulty runs are in {}", folder.display());

    let mut soak = Soak::start(folder, seed)?;
    while soak.watch.seconds() < minutes * 60.0 {
        soak.run()?;
    }
    let (text, picture, complaints) = soak.end(minutes, seed)?;
    println!("{text}");
    if let Some(document) = document {
        let text = format!("{text}\n![Resident memory over the time of the soak]({FIGURE})");
        let command = format!("make soak MINUTES={minutes} SEED={seed} WRITE=1");
        DOCUMENT.write(&document, &command, &text)?;
        fs::write(document.with_file_name(FIGURE), picture)?;
    }
    match &complaints[..] {
        [] => Ok(()),
        complaints => Err(format!("seed {seed}: {}", complaints.join("; ")).into()),
    }
}

/// Options of the nodes. Short windows keep the memory that a flood leaves in the heap small.
const NODE: [&str; 4] = ["--engine", "echo", "--receive-window-bytes", "1048576"];

/// Number of floods before the soak, over each transport. Each leaves less memory in the heap than
/// the one before, and this memory is not growth.
const WARM_UP: usize = 10;

/// Floods every node, so that its heap reaches the size that floods leave.
fn warm_up(nodes: &[Node]) {
    for transport in ["grpc", "quic"].repeat(WARM_UP) {
        let flood = |node: &Node| fault::flood(&node.address, transport);
        let _floods: Vec<_> = nodes.iter().map(flood).collect();
        thread::sleep(Duration::from_secs(1));
    }
}

struct Soak {
    nodes: Vec<Node>,
    watch: MemoryWatch,
    summary: Summary,
    random: StdRng,
    number: usize,
    folder: PathBuf,
}

impl Soak {
    fn start(folder: PathBuf, seed: u64) -> Result<Self, Box<dyn Error>> {
        let nodes = NAMES.map(|name| Node::start(name, "127.0.0.1:0", &NODE, &folder));
        let nodes = nodes.into_iter().collect::<Result<Vec<_>, _>>()?;
        warm_up(&nodes);
        let watch = MemoryWatch::start();
        for (node, name) in nodes.iter().zip(NAMES) {
            watch.add(node.id(), label(name));
        }
        let random = StdRng::seed_from_u64(seed);
        Ok(Self { nodes, watch, summary: Summary::default(), random, number: 0, folder })
    }

    /// Makes one run.
    fn run(&mut self) -> Result<(), Box<dyn Error>> {
        let mut plan = Plan::draw(self.number, &mut self.random);
        self.number += 1;
        let relay = fault::relay(&plan, &self.nodes[plan.victim], self.number as u64);
        let mut addresses: Vec<&str> = self.nodes.iter().map(|node| &node.address[..]).collect();
        if let Some(relay) = &relay {
            addresses[plan.victim] = &relay.address;
        }
        let mut running = plan.run(&addresses).start();
        let node = &self.nodes[plan.victim];
        let stranger = fault::inject(&plan, node, relay.as_ref(), &mut running);
        if stranger.is_none() {
            plan.fault = Fault::None;
        }
        let outcome = running.wait();
        fault::recover(&plan, node);
        drop((stranger, relay));

        let mut account = RunAccount::of(&plan, &outcome);
        let mortal = matches!(plan.fault, Fault::NodeKilled | Fault::NodeTerminated);
        for (place, node) in self.nodes.iter_mut().enumerate() {
            let told = mortal && place == plan.victim;
            if !told && !node.is_alive() {
                account.violations.push(format!("node {} has ended", NAMES[place]));
            }
            if told || !node.is_alive() {
                node.start_again(&NODE, &self.folder)?;
                self.watch.add(node.id(), label(NAMES[place]));
            }
        }
        self.report(&plan, &account, &outcome);
        Ok(())
    }

    fn report(&mut self, plan: &Plan, account: &RunAccount, outcome: &Outcome) {
        let seconds = self.watch.seconds();
        self.summary.add(plan, account, seconds);
        let verdict = account.verdict.map_or("killed".into(), |v| format!("{v:?}"));
        let RunAccount { issued, completed, lost, .. } = account;
        eprintln!(
            "{seconds:4.0} s  run {}, {}: {verdict}, {issued} issued, {completed} completed, {lost} lost; {:.1} s; {}",
            self.number,
            plan.words(),
            outcome.time.as_secs_f64(),
            self.summary.in_short(),
        );
        if account.violations.is_empty() {
            return;
        }
        let kept = self.folder.join(format!("run-{}", self.number));
        keep(outcome, &kept);
        for complaint in &account.violations {
            let text = format!("run {} ({}): {complaint}", self.number, plan.words());
            eprintln!("WRONG: {text}; its output is in {}", kept.display());
            self.summary.violations.push(text);
        }
    }

    /// Returns the tables, the chart, and all violations.
    fn end(self, minutes: f64, seed: u64) -> Result<(String, String, Vec<String>), Box<dyn Error>> {
        let Self { nodes, watch, mut summary, folder, .. } = self;
        let seconds = watch.seconds();
        let series = watch.end();
        drop(nodes);
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_file() && fs::read_to_string(&path)?.contains("panicked") {
                summary.violations.push(format!("a node panicked: {}", path.display()));
            }
        }
        let head = format!(
            "{minutes} minutes, seed {seed}, three nodes (engine `echo`), both transports in turn, {} cores:",
            std::thread::available_parallelism()?
        );
        let picture = figure::svg(&series, &shown(summary.run_memory()))?;
        let text = summary.text(&head, &series, seconds);
        if summary.violations.is_empty() {
            fs::remove_dir_all(&folder)?;
        }
        Ok((text, picture, summary.violations))
    }
}

/// Returns the kinds of runs with the most points; other kinds would only fill the legend.
fn shown(mut runs: Vec<memory::Series>) -> Vec<memory::Series> {
    runs.sort_by_key(|series| std::cmp::Reverse(series.points.len()));
    runs.truncate(3);
    runs
}

fn label(name: &str) -> String {
    format!("node {name}")
}

/// Copies the output folder of a run, and writes its exit code and its output beside the files.
fn keep(outcome: &Outcome, to: &Path) {
    let _ = Command::new("cp").arg("-r").arg(outcome.path("")).arg(to).status();
    let _ = fs::create_dir_all(to);
    let said = format!("exit code {:?}\n{}\n{}", outcome.code, outcome.stdout, outcome.stderr);
    let _ = fs::write(to.join("said.txt"), said);
}
