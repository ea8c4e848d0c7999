//! What this machine moves with the official LoadGen: two `echo` nodes and the LoadGen node, all on loopback and
//! on the same cores. `bench [RUNS]` prints a table in Markdown; medians over the runs, which alternate.

use std::{env, error::Error, fmt::Write as _, fs, process::Command, thread};

use e2e::{LoadGen, Outcome, SutNode, process::program};
use serde_json::Value;

/// The scenarios that are measured: label, scenario, bytes of a sample, samples per second asked for.
const ROWS: [(&str, &str, usize, u64); 5] = [
    ("Offline, 64 B", "offline", 64, 2_000_000),
    ("Offline, 150,528 B (ResNet50)", "offline", 150_528, 25_000),
    ("Server 50,000 QPS, 64 B", "server", 64, 50_000),
    ("Server 150,000 QPS, 64 B", "server", 64, 150_000),
    ("Server 1,000 QPS, 64 B", "server", 64, 1000),
];

/// Length of the shortest run, in milliseconds. Server runs take as long; Offline sends as many samples as the
/// asked rate would need for it.
const MILLISECONDS: u64 = 3000;

/// One run's figures.
struct Figures {
    verdict: String,
    samples_per_second: f64,
    cpu_us_per_sample: f64,
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let runs = env::args().nth(1).map_or(Ok(5), |n| n.parse::<usize>())?;
    let nodes = [SutNode::echo("a", &[]), SutNode::echo("b", &[])];
    let mut figures: Vec<Vec<Figures>> = ROWS.iter().map(|_| Vec::new()).collect();
    for run in 1..=runs {
        for (row, figures) in ROWS.iter().zip(&mut figures) {
            println!("run {run} of {runs}: {}", row.0);
            figures.push(measure(&nodes, row.1, row.2, row.3)?);
        }
    }
    println!("\n{}", table(&figures)?);
    println!("{}", memory(&nodes)?);
    Ok(())
}

/// One run of the real programs.
fn measure(
    nodes: &[SutNode; 2],
    scenario: &str,
    bytes: usize,
    rate: u64,
) -> Result<Figures, Box<dyn Error>> {
    let before = nodes.iter().map(SutNode::cpu_seconds).sum::<f64>();
    // As many samples as fit the caches of nobody: 64 MB, or 1,024.
    let samples = (64_000_000 / bytes).clamp(64, 1024);
    let dataset = format!("synthetic:{samples}x{bytes}");
    let outcome = run(nodes, scenario, &dataset, MILLISECONDS, rate);
    let after = nodes.iter().map(SutNode::cpu_seconds).sum::<f64>();
    let result = outcome.result();
    let number = |value: &Value| value.as_f64().ok_or("a number is missing");
    let cpu_seconds = number(&result["process"]["cpu_seconds"])? + after - before;
    let latency = &result["loadgen_latency_ns"];
    Ok(Figures {
        verdict: result["verdict"].as_str().unwrap_or_default().into(),
        samples_per_second: number(&result["metric"]["value"])?,
        cpu_us_per_sample: cpu_seconds * 1e6 / number(&result["samples"]["completed"])?,
        p50_us: number(&latency["50.00"])? / 1e3,
        p99_us: number(&latency["99.00"])? / 1e3,
        max_us: number(&latency["max"])? / 1e3,
    })
}

fn run(
    nodes: &[SutNode; 2],
    scenario: &str,
    dataset: &str,
    milliseconds: u64,
    rate: u64,
) -> Outcome {
    LoadGen::new(&[&nodes[0].address, &nodes[1].address], scenario)
        .args(&["--benchmark", "fabric", "--dataset", dataset])
        .short(milliseconds, rate)
        .args(&["--setting", "server_target_latency_ns=10000000"])
        .run()
}

fn table(figures: &[Vec<Figures>]) -> Result<String, std::fmt::Error> {
    let mut text = String::from(
        "| with LoadGen, two nodes | samples/s (least – most) | CPU per sample, all processes | p50 | p99 | max | \
         VALID runs |\n|---|---|---|---|---|---|---|\n",
    );
    for (row, runs) in ROWS.iter().zip(figures) {
        let of = |pick: fn(&Figures) -> f64| median(runs.iter().map(pick).collect());
        let rates: Vec<_> = runs.iter().map(|run| run.samples_per_second).collect();
        let (least, most) =
            rates.iter().fold((f64::MAX, 0.0_f64), |(l, m), rate| (l.min(*rate), m.max(*rate)));
        // Offline's latencies are times since the one query was issued, and say nothing.
        let latency = match row.1 {
            "offline" => "– | – | –".into(),
            _ => format!(
                "{:.0} µs | {:.0} µs | {:.0} µs",
                of(|run| run.p50_us),
                of(|run| run.p99_us),
                of(|run| run.max_us)
            ),
        };
        // An Offline run that is faster than the asked rate is too short for LoadGen's taste, and not wrong.
        let valid = match row.1 {
            "offline" => "–".into(),
            _ => {
                let valid = runs.iter().filter(|run| run.verdict == "VALID").count();
                format!("{valid} of {}", runs.len())
            }
        };
        writeln!(
            text,
            "| {} | {:.0} ({least:.0} – {most:.0}) | {:.2} µs | {latency} | {valid} |",
            row.0,
            of(|run| run.samples_per_second),
            of(|run| run.cpu_us_per_sample),
        )?;
    }
    Ok(text)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Memory of the LoadGen node for ten million samples in one query, beside LoadGen alone.
fn memory(nodes: &[SutNode; 2]) -> Result<String, Box<dyn Error>> {
    let alone =
        Command::new(program("loadgen-alone")).args(["offline", "9090910", "1000"]).output()?;
    let alone: Value = serde_json::from_slice(&alone.stdout)?;
    let outcome = run(nodes, "offline", "synthetic:1024x64", 1000, 9_090_910);
    let mib = |value: &Value| value["peak_resident_bytes"].as_f64().unwrap_or(0.0) / 1048576.0;
    let cores = thread::available_parallelism()?;
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name\t: ")).unwrap_or("?");
    Ok(format!(
        "Ten million samples in one Offline query: {:.0} MiB resident at most; LoadGen's tables for them\n         {:.0} MiB.\n\
         Machine: {cores} cores, {model}.",
        mib(&outcome.result()["process"]),
        mib(&alone),
    ))
}
