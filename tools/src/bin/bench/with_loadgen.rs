//! The real programs with the official LoadGen: two nodes and the LoadGen node. In the same rounds:
//! the QDL without LoadGen, and LoadGen with a system under test that does nothing.

use std::{error::Error, fmt::Write as _};

use e2e::{LoadGen, Outcome, SutNode};
use netdiv_qdl::Settings;
use serde_json::Value;

use crate::{
    meter::{Meter, median, spread},
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

/// Figures of one run; latencies in microseconds.
#[derive(Clone)]
pub struct RunFigures {
    verdict: String,
    completed: usize,
    pub samples_per_second: f64,
    pub cpu_us_per_sample: f64,
    pub p50: f64,
    p99: f64,
}

/// Returns the table, and the memory for ten million samples.
pub fn tables(runs: usize) -> Result<String, Box<dyn Error>> {
    let start =
        |name: &str, args: &[&str]| SutNode::start(name, &[&["--engine", "none"], args].concat());
    let nodes = [start("a", &[]), start("b", &[])];
    let mut figures: Vec<Vec<(RunFigures, f64)>> = ROWS.iter().map(|_| Vec::new()).collect();
    for run in 1..=runs {
        for (row, figures) in ROWS.iter().zip(&mut figures) {
            eprintln!("{}, round {run} of {runs}", row.label);
            figures.push(if row.busy {
                // Nodes that poll would use the cores of the other rows.
                measure_beside(&[start("c", &["--busy-poll"])], row)?
            } else {
                measure_beside(&nodes, row)?
            });
        }
    }
    Ok(format!("{}\n{}", table(&figures)?, memory(&nodes)?))
}

/// Returns the figures of a run, and a baseline without a network: samples per second of the QDL
/// without LoadGen (Offline), or p50 of a system that does nothing (Server).
fn measure_beside(nodes: &[SutNode], row: &BenchRow) -> Result<(RunFigures, f64), Box<dyn Error>> {
    let figures = measure(nodes, row)?;
    let beside = if row.scenario == "offline" {
        without_loadgen(nodes, row.bytes, figures.completed)?
    } else {
        let alone = loadgen_alone("server", row.rate, MILLISECONDS, &[])?;
        alone["latency_ns"]["50.00"].as_f64().ok_or("no latency")? / 1e3
    };
    Ok((figures, beside))
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
    let result = outcome.result();
    let number = |value: &Value| value.as_f64().ok_or("a number is missing");
    let cpu_seconds = number(&result["process"]["cpu_seconds"])? + nodes_cpu;
    let completed = number(&result["samples"]["completed"])?;
    let latency = &result["loadgen_latency_ns"];
    Ok(RunFigures {
        verdict: result["verdict"].as_str().unwrap_or_default().into(),
        completed: completed as usize,
        samples_per_second: number(&result["metric"]["value"])?,
        cpu_us_per_sample: cpu_seconds * 1e6 / completed,
        p50: number(&latency["50.00"])? / 1e3,
        p99: number(&latency["99.00"])? / 1e3,
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

fn table(figures: &[Vec<(RunFigures, f64)>]) -> Result<String, std::fmt::Error> {
    let mut text = String::from(
        "| with LoadGen, two nodes | samples/s | CPU per sample, all processes | p50 | p99 | comparison | VALID runs \
         |\n|---|---|---|---|---|---|---|\n",
    );
    for (row, runs) in ROWS.iter().zip(figures) {
        let of = |pick: fn(&RunFigures) -> f64| median(runs.iter().map(|(run, _)| pick(run)));
        let rates: Vec<_> = runs.iter().map(|(run, _)| run.samples_per_second).collect();
        // Offline's latencies are times since the one query was issued, and mean nothing. A run
        // that is faster than the requested rate is too short for LoadGen's VALID, but not wrong.
        let (latency, beside, valid) = match row.scenario {
            "offline" => {
                let ratio = |(run, beside): &(RunFigures, f64)| run.samples_per_second / beside;
                let ratio = median(runs.iter().map(ratio));
                ("– | –".into(), format!("{ratio:.2} of the QDL without LoadGen"), "–".into())
            }
            _ => {
                let added = median(runs.iter().map(|(run, beside)| run.p50 - beside));
                let valid = runs.iter().filter(|(run, _)| run.verdict == "VALID").count();
                (
                    format!("{:.0} µs | {:.0} µs", of(|run| run.p50), of(|run| run.p99)),
                    format!("p50 is {added:.0} µs more than without a network"),
                    format!("{valid} of {}", runs.len()),
                )
            }
        };
        let label = row.label;
        let cpu = of(|run| run.cpu_us_per_sample);
        let rates = spread(rates, 0);
        writeln!(text, "| {label} | {rates} | {cpu:.2} µs | {latency} | {beside} | {valid} |")?;
    }
    Ok(text)
}

/// Returns the memory of the LoadGen node for ten million samples in one query, and of LoadGen
/// alone.
fn memory(nodes: &[SutNode]) -> Result<String, Box<dyn Error>> {
    let alone = loadgen_alone("offline", 9_090_910, 1000, &[])?;
    let outcome = run(nodes, "offline", "synthetic:1024x64", 1000, 9_090_910, &[]);
    let mib = |value: &Value| value["peak_resident_bytes"].as_f64().unwrap_or(0.0) / 1048576.0;
    Ok(format!(
        "Ten million samples in one Offline query: {:.0} MiB peak resident memory; LoadGen's tables take {:.0} MiB.\n",
        mib(&outcome.result()["process"]),
        mib(&alone),
    ))
}
