//! The real programs with the official LoadGen: two nodes and the LoadGen node. In the same rounds:
//! the QDL without LoadGen, and LoadGen with a system that responds at once, in its process and
//! behind plain sockets.

use std::{error::Error, fmt::Write as _};

use e2e::{LoadGen, Outcome, SutNode};
use netdiv_qdl::Settings;
use serde_json::Value;

use crate::{
    meter::{Meter, median, mib, spread},
    qdl,
    server::loadgen_alone,
};

/// A row of the table: label, scenario, bytes per sample, requested samples per second, and true if
/// node and run use `--busy-poll`.
pub struct BenchRow {
    pub label: &'static str,
    scenario: &'static str,
    bytes: usize,
    rate: u64,
    busy: bool,
}

const fn row(
    label: &'static str,
    scenario: &'static str,
    bytes: usize,
    rate: u64,
    busy: bool,
) -> BenchRow {
    BenchRow { label, scenario, bytes, rate, busy }
}

pub const OFFLINE_SHORT: BenchRow = row("Offline, 64 B", "offline", 64, 2_000_000, false);
pub const OFFLINE_LONG: BenchRow =
    row("Offline, 150,528 B (ResNet50)", "offline", 150_528, 25_000, false);
pub const SERVER_SLOW: BenchRow = row("Server 1,000 QPS, 64 B", "server", 64, 1000, false);

const ROWS: [BenchRow; 6] = [
    OFFLINE_SHORT,
    OFFLINE_LONG,
    row("Server 50,000 QPS, 64 B", "server", 64, 50_000, false),
    row("Server 150,000 QPS, 64 B", "server", 64, 150_000, false),
    SERVER_SLOW,
    row("Server 1,000 QPS, 64 B, one node, `--busy-poll`", "server", 64, 1000, true),
];

/// Minimum duration of a run, in milliseconds. A Server run takes this long. An Offline run sends
/// as many samples as take this long at the requested rate.
const MILLISECONDS: u64 = 3000;

/// Maximum rate that plain sockets are measured at, in samples per second.
const SOCKETS_RATE: u64 = 10_000;

/// Figures of one run.
pub struct RunFigures {
    verdict: String,
    completed: usize,
    pub samples_per_second: f64,
    pub cpu_us_per_sample: f64,
    pub latency: Latency,
    /// Peak resident memory of the LoadGen node and of all nodes, in MiB.
    memory_mib: [f64; 2],
}

/// Percentiles of latencies, in microseconds.
#[derive(Clone, Copy)]
pub struct Latency {
    pub p50: f64,
    p99: f64,
}

impl Latency {
    fn read(latency_ns: &Value) -> Result<Self, &'static str> {
        let us =
            |name: &str| latency_ns[name].as_f64().map(|ns| ns / 1e3).ok_or("a latency is missing");
        Ok(Self { p50: us("50.00")?, p99: us("99.00")? })
    }

    fn beyond(self, other: Self) -> Self {
        Self { p50: self.p50 - other.p50, p99: self.p99 - other.p99 }
    }
}

/// Comparison of a run with baselines in the same round.
enum Comparison {
    /// Ratio of the rate to that of the QDL without LoadGen (Offline).
    Rate(f64),
    /// Latency beyond that of LoadGen alone: by nodes, and by plain sockets (Server).
    Added([Latency; 2]),
    /// Plain sockets, which write each sample alone, do not keep up.
    Nothing,
}

type ComparedRun = (RunFigures, Comparison);

/// Returns the tables, and the memory for ten million samples.
pub fn tables(runs: usize) -> Result<String, Box<dyn Error>> {
    let mut figures: Vec<Vec<ComparedRun>> = ROWS.iter().map(|_| Vec::new()).collect();
    for run in 1..=runs {
        for (row, figures) in ROWS.iter().zip(&mut figures) {
            eprintln!("{}, round {run} of {runs}", row.label);
            figures.push(measure_beside(row)?);
        }
    }
    Ok([table(&figures)?, added_latency(&figures)?, memory()?].join("\n"))
}

/// Starts nodes for a row.
fn nodes(row: &BenchRow) -> Vec<SutNode> {
    let (names, options): (&[&str], &[&str]) =
        if row.busy { (&["a"], &["--busy-poll"]) } else { (&["a", "b"], &[]) };
    let options = [&["--engine", "none"], options].concat();
    names.iter().map(|name| SutNode::start(name, &options)).collect()
}

/// Makes a run, and those of its baselines.
fn measure_beside(row: &BenchRow) -> Result<ComparedRun, Box<dyn Error>> {
    let nodes = nodes(row);
    let run = measure(&nodes, row)?;
    let comparison = if row.scenario == "offline" {
        Comparison::Rate(
            run.samples_per_second / without_loadgen(&nodes, row.bytes, run.completed)?,
        )
    } else if row.rate > SOCKETS_RATE {
        Comparison::Nothing
    } else {
        // Nodes that poll would use the cores of the baselines.
        drop(nodes);
        let baseline = |further: &[u64]| -> Result<_, Box<dyn Error>> {
            let line = loadgen_alone("server", row.rate, MILLISECONDS, further)?;
            Ok(Latency::read(&line["latency_ns"])?)
        };
        let (alone, sockets) = (baseline(&[])?, baseline(&[row.bytes as u64])?);
        Comparison::Added([run.latency, sockets].map(|latency| latency.beyond(alone)))
    };
    Ok((run, comparison))
}

/// Makes one run.
pub fn measure(nodes: &[SutNode], row: &BenchRow) -> Result<RunFigures, Box<dyn Error>> {
    let cpu = || nodes.iter().map(SutNode::cpu_seconds).sum::<f64>();
    let before = cpu();
    let samples = qdl::payloads(row.bytes).len();
    let dataset = format!("synthetic:{samples}x{}", row.bytes);
    let busy: &[&str] = if row.busy { &["--busy-poll"] } else { &[] };
    let outcome = run(nodes, row.scenario, &dataset, MILLISECONDS, row.rate, busy);
    let nodes_cpu = cpu() - before;
    let nodes_bytes: u64 = nodes.iter().map(SutNode::peak_resident_bytes).sum();
    let result = outcome.result();
    let number = |value: &Value| value.as_f64().ok_or("a number is missing");
    let cpu_seconds = number(&result["process"]["cpu_seconds"])? + nodes_cpu;
    let completed = number(&result["samples"]["completed"])?;
    Ok(RunFigures {
        verdict: result["verdict"].as_str().unwrap_or_default().into(),
        completed: completed as usize,
        samples_per_second: number(&result["metric"]["value"])?,
        cpu_us_per_sample: cpu_seconds * 1e6 / completed,
        latency: Latency::read(&result["loadgen_latency_ns"])?,
        memory_mib: [number(&result["process"]["peak_resident_bytes"])?, nodes_bytes as f64]
            .map(mib),
    })
}

fn run(
    nodes: &[SutNode],
    scenario: &str,
    dataset: &str,
    milliseconds: u64,
    rate: u64,
    args: &[&str],
) -> Outcome {
    let addresses: Vec<_> = nodes.iter().map(|node| node.address.as_str()).collect();
    LoadGen::new(&addresses, scenario)
        .args(&["--benchmark", "fabric", "--dataset", dataset])
        .args(args)
        .short(milliseconds, rate)
        .args(&["--setting", "server_target_latency_ns=10000000"])
        .run()
}

/// Returns the samples per second of the QDL alone.
fn without_loadgen(nodes: &[SutNode], bytes: usize, samples: usize) -> Result<f64, Box<dyn Error>> {
    let settings = Settings::new(nodes.iter().map(|node| node.address.clone()).collect());
    let meter = Meter::with(nodes.iter().map(SutNode::id));
    let cost = qdl::send(&meter, settings, &qdl::payloads(bytes), samples)?;
    Ok(samples as f64 / cost.seconds)
}

fn table(figures: &[Vec<ComparedRun>]) -> Result<String, std::fmt::Error> {
    let mut text = String::from(
        "| with LoadGen, two nodes | samples/s | CPU per sample, all processes | ratio to the QDL without LoadGen | p50 | p99 \
         | VALID runs | peak memory, LoadGen node / all nodes |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (row, runs) in ROWS.iter().zip(figures) {
        let of = |pick: fn(&RunFigures) -> f64| median(runs.iter().map(|(run, _)| pick(run)));
        let rates: Vec<_> = runs.iter().map(|(run, _)| run.samples_per_second).collect();
        // Offline's latencies are times since the one query was issued, and mean nothing. A run
        // that is faster than the requested rate is too short for LoadGen's VALID, but not wrong.
        let further = if row.scenario == "offline" {
            let ratio = |(_, comparison): &ComparedRun| match comparison {
                Comparison::Rate(ratio) => Some(*ratio),
                Comparison::Added(_) | Comparison::Nothing => None,
            };
            format!("{:.2} | – | – | –", median(runs.iter().filter_map(ratio)))
        } else {
            let valid = runs.iter().filter(|(run, _)| run.verdict == "VALID").count();
            let (p50, p99) = (of(|run| run.latency.p50), of(|run| run.latency.p99));
            format!("– | {p50:.0} µs | {p99:.0} µs | {valid} of {}", runs.len())
        };
        let label = row.label;
        let cpu = of(|run| run.cpu_us_per_sample);
        let rates = spread(rates, 0);
        let [loadgen_node, nodes] = [of(|run| run.memory_mib[0]), of(|run| run.memory_mib[1])];
        writeln!(
            text,
            "| {label} | {rates} | {cpu:.2} µs | {further} | {loadgen_node:.0} / {nodes:.0} MiB |"
        )?;
    }
    Ok(text)
}

/// Returns the latencies in Server that nodes and plain sockets add to those of LoadGen alone.
fn added_latency(figures: &[Vec<ComparedRun>]) -> Result<String, std::fmt::Error> {
    let mut text = String::from(
        "| Server, beyond LoadGen alone | netdiv, p50 | plain sockets, p50 | ratio | netdiv, p99 | plain sockets, p99 | ratio \
         |\n|---|---|---|---|---|---|---|\n",
    );
    for (row, runs) in ROWS
        .iter()
        .zip(figures)
        .filter(|(row, _)| row.scenario == "server" && row.rate <= SOCKETS_RATE)
    {
        let added = |(_, comparison): &ComparedRun| match comparison {
            Comparison::Added(added) => Some(*added),
            Comparison::Rate(_) | Comparison::Nothing => None,
        };
        let rounds: Vec<_> = runs.iter().filter_map(added).collect();
        let cells = |pick: fn(Latency) -> f64| {
            let of = |place: usize| spread(rounds.iter().map(|round| pick(round[place])), 0);
            let ratios = rounds.iter().map(|[netdiv, sockets]| pick(*netdiv) / pick(*sockets));
            format!("{} µs | {} µs | {}", of(0), of(1), spread(ratios, 2))
        };
        let (p50, p99) = (cells(|latency| latency.p50), cells(|latency| latency.p99));
        writeln!(text, "| {} | {p50} | {p99} |", row.label)?;
    }
    Ok(text)
}

/// Returns the memory of the LoadGen node for ten million samples in one query, and of LoadGen
/// alone.
fn memory() -> Result<String, Box<dyn Error>> {
    let alone = loadgen_alone("offline", 9_090_910, 1000, &[])?;
    let outcome = run(&nodes(&OFFLINE_SHORT), "offline", "synthetic:1024x64", 1000, 9_090_910, &[]);
    let peak = |value: &Value| mib(value["peak_resident_bytes"].as_f64().unwrap_or(0.0));
    Ok(format!(
        "Ten million samples in one Offline query: {:.0} MiB peak resident memory; LoadGen's tables take {:.0} MiB.\n",
        peak(&outcome.result()["process"]),
        peak(&alone),
    ))
}
