//! Runs that overload the nodes, and runs with very large queries.

use std::{collections::BTreeMap, error::Error, process::Command, thread, time::Duration};

use bytes::Bytes;
use e2e::{Bombs, Flood, SutNode, process::program, slow_reader::SlowReader};
use netdiv_contract::{
    encoding::Encoding,
    layout::{DataType, Tensor, pack},
    v1::Tokens,
};
use netdiv_rules::record::{RunResult, Verdict};
use serde_json::Value;

use crate::bound::{self, BYTES, MIB, PROMPTS, SAMPLES, TOKENS, WINDOW};

/// A row of the table; memory in bytes.
#[derive(Debug)]
pub struct OverloadRow {
    situation: String,
    transport: &'static str,
    samples: Option<u64>,
    verdict: String,
    loadgen: Option<LoadGenMemory>,
    node: u64,
    node_bound: u64,
    /// Set if samples have no response.
    incomplete: bool,
}

/// Peak memory of the LoadGen node, of LoadGen alone, and the bound.
#[derive(Debug, Clone, Copy)]
struct LoadGenMemory {
    most: u64,
    alone: u64,
    bound: u64,
}

impl OverloadRow {
    /// Returns true if memory stayed within its bounds and every sample has a response.
    pub fn holds(&self) -> bool {
        self.loadgen.is_none_or(|loadgen| loadgen.most <= loadgen.bound)
            && self.node <= self.node_bound
            && !self.incomplete
    }

    /// Returns the row in Markdown.
    pub fn line(&self) -> String {
        let mib = |bytes: u64| (bytes as f64 / MIB as f64).round().to_string();
        let samples = self.samples.map_or("–".into(), |samples| samples.to_string());
        let loadgen = match self.loadgen {
            None => "– | – | –".into(),
            Some(m) => format!("{} | {} | {}", mib(m.most), mib(m.alone), mib(m.bound)),
        };
        let Self { situation, transport, verdict, .. } = self;
        let holds = if self.holds() { "holds" } else { "**does not hold**" };
        format!(
            "| {situation} | {transport} | {samples} | {verdict} | {loadgen} | {} | {} | {holds} |\n",
            mib(self.node),
            mib(self.node_bound)
        )
    }
}

/// A run of LoadGen: scenario, number and length of samples in the data set, rate and minimum
/// duration.
struct LoadGenLoad {
    scenario: &'static str,
    dataset: (u64, u64),
    rate: u64,
    milliseconds: u64,
}

/// Memory of LoadGen alone, by scenario, rate and duration.
type LoadGenAloneMemory = BTreeMap<(&'static str, u64, u64), u64>;

/// Makes all runs, over both transports, and returns a row for each. `largest` adds a query of 10⁸
/// samples.
pub fn measure(largest: bool) -> Result<Vec<OverloadRow>, Box<dyn Error>> {
    let mut rows = Vec::new();
    let mut alone = LoadGenAloneMemory::new();
    let small = (1024, 64);
    let offline =
        |rate| LoadGenLoad { scenario: "offline", dataset: small, rate, milliseconds: 1000 };
    for transport in ["grpc", "quic"] {
        // LoadGen adds a tenth to the samples that the expected rate needs.
        for (samples, rate) in [("10⁶", 909_091), ("10⁷", 9_090_910)] {
            let title = format!("Offline, one query of {samples}");
            rows.push(run(&title, transport, &[&[], &[]], &offline(rate), &mut alone)?);
        }
        let slow = ["--max-batch", "16", "--echo-sample", "2ms"];
        let quick = ["--max-batch", "16", "--echo-sample", "200us"];
        let long = (256, 100_000);
        let load =
            LoadGenLoad { scenario: "offline", dataset: long, rate: 5000, milliseconds: 5000 };
        let title = "one node ten times slower than the other, Offline, 100 kB";
        rows.push(run(title, transport, &[&quick, &slow], &load, &mut alone)?);
        let load =
            LoadGenLoad { scenario: "server", dataset: long, rate: 3000, milliseconds: 5000 };
        let title = "one node ten times slower than the other, Server, 100 kB";
        rows.push(run(title, transport, &[&quick, &slow], &load, &mut alone)?);
        // Two nodes that do 2,000 samples a second each.
        let few = ["--max-batch", "2", "--echo-batch", "1ms"];
        let load =
            LoadGenLoad { scenario: "server", dataset: small, rate: 40_000, milliseconds: 2000 };
        let title = "Server at ten times the rate of the nodes";
        rows.push(run(title, transport, &[&few, &few], &load, &mut alone)?);
        for sample_bytes in [64, 60_000] {
            rows.push(flood(transport, sample_bytes));
        }
        for tokens in [Tokens::Whole, Tokens::Every] {
            rows.push(slow_reader(transport, tokens));
        }
        for encoding in [Encoding::Zstd, Encoding::Lz4] {
            rows.extend(BOMBED.iter().map(|engine| bombs(transport, encoding, engine)));
        }
    }
    if largest {
        // LoadGen alone would respond to all samples in one thread and keep its whole log in
        // memory. Its tables grow with the number of samples.
        let ten_million = alone.get(&("offline", 9_090_910, 1000)).copied().unwrap_or(0);
        alone.insert(("offline", 90_909_100, 1000), 10 * ten_million);
        let title = "Offline, one query of 10⁸";
        rows.push(run(title, "grpc", &[&[], &[]], &offline(90_909_100), &mut alone)?);
    }
    Ok(rows)
}

fn limits() -> [String; 6] {
    let limit = |key: &str, value: u64| [key.to_owned(), value.to_string()];
    let [a, b] = limit("--max-in-flight-samples", SAMPLES);
    let [c, d] = limit("--max-in-flight-bytes", BYTES);
    let [e, f] = limit("--receive-window-bytes", WINDOW);
    [a, b, c, d, e, f]
}

fn start(name: &str, args: &[&str]) -> SutNode {
    let limits = limits();
    let limits: Vec<&str> = limits.iter().map(String::as_str).collect();
    SutNode::echo(name, &[&limits, args].concat())
}

fn run(
    situation: &str,
    transport: &'static str,
    nodes: &[&[&str]],
    load: &LoadGenLoad,
    alone: &mut LoadGenAloneMemory,
) -> Result<OverloadRow, Box<dyn Error>> {
    eprintln!("{situation}, {transport}");
    let nodes: Vec<_> =
        nodes.iter().enumerate().map(|(n, args)| start(&format!("node-{n}"), args)).collect();
    let alone = match alone.get(&(load.scenario, load.rate, load.milliseconds)) {
        Some(bytes) => *bytes,
        None => *alone
            .entry((load.scenario, load.rate, load.milliseconds))
            .or_insert(loadgen_alone(load)?),
    };
    let result = loadgen_node(transport, &nodes, load)?;
    let (count, bytes) = load.dataset;
    let counts = &result.samples;
    Ok(OverloadRow {
        situation: situation.into(),
        transport,
        samples: Some(counts.issued),
        verdict: format!("{:?}", result.verdict).to_uppercase(),
        loadgen: Some(LoadGenMemory {
            most: result.process.peak_resident_bytes,
            alone,
            bound: bound::loadgen_node(alone, count * bytes, nodes.len() as u64),
        }),
        node: nodes.iter().map(SutNode::peak_resident_bytes).max().unwrap_or(0),
        node_bound: bound::sut_node(1, false),
        incomplete: counts.completed != counts.issued || result.verdict == Verdict::Failed,
    })
}

/// Runs to completion, however long it takes.
fn loadgen_node(
    transport: &str,
    nodes: &[SutNode],
    load: &LoadGenLoad,
) -> Result<RunResult, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("out");
    let addresses: Vec<_> = nodes.iter().map(|node| node.address.as_str()).collect();
    let (count, bytes) = load.dataset;
    let field =
        if load.scenario == "offline" { "offline_expected_qps" } else { "server_target_qps" };
    let ended = Command::new(program("loadgen-node"))
        .current_dir(folder.path())
        .env_remove("RUST_LOG")
        .args(["run", "--quiet", "--benchmark", "fabric", "--scenario", load.scenario])
        .args(["--transport", transport, "--nodes", &addresses.join(",")])
        .args(["--dataset", &format!("synthetic:{count}x{bytes}")])
        .args(["--receive-window-bytes", &WINDOW.to_string()])
        .args(["--setting", &format!("{field}={}", load.rate)])
        .args(["--setting", &format!("min_duration_ms={}", load.milliseconds)])
        .args(["--setting", "min_query_count=1"])
        .arg("--output")
        .arg(&output)
        .output()?;
    let text = std::fs::read_to_string(output.join("result.json")).map_err(|error| {
        format!(
            "{error}: {}{}",
            String::from_utf8_lossy(&ended.stdout),
            String::from_utf8_lossy(&ended.stderr)
        )
    })?;
    Ok(serde_json::from_str(&text)?)
}

fn loadgen_alone(load: &LoadGenLoad) -> Result<u64, Box<dyn Error>> {
    let args = [load.scenario.to_owned(), load.rate.to_string(), load.milliseconds.to_string()];
    let alone = Command::new(program("loadgen-alone")).args(args).output()?;
    let line: Value = serde_json::from_slice(&alone.stdout)?;
    Ok(line["peak_resident_bytes"].as_u64().ok_or("LoadGen alone did not report its memory")?)
}

/// Number of connections of the flooding client.
const FLOODS: usize = 8;

/// Duration of a flood: long enough to fill every buffer.
const FLOODING: Duration = Duration::from_secs(8);

/// Measures a node whose clients send and never read. The responses are as long as the samples.
fn flood(transport: &'static str, sample_bytes: usize) -> OverloadRow {
    let situation = format!("{FLOODS} clients that flood and never read, {sample_bytes} B");
    eprintln!("{situation}, {transport}");
    let node = start("flooded", &["--echo-answer-bytes", "0"]);
    let flood = Flood::start(&node.address, transport, FLOODS, sample_bytes);
    thread::sleep(FLOODING);
    let most = node.peak_resident_bytes();
    // Meanwhile another client is served.
    let addresses = [&node.address[..]];
    let other = e2e::LoadGen::new(&addresses, "offline")
        .transport(transport)
        .args(&["--benchmark", "fabric", "--dataset", "synthetic:1000x64", "--mode", "accuracy"])
        .run();
    drop(flood);
    OverloadRow {
        situation,
        transport,
        samples: None,
        verdict: format!("another client: {}", other.result()["verdict"].as_str().unwrap_or("?")),
        loadgen: None,
        node: most,
        node_bound: bound::sut_node(FLOODS as u64, true),
        incomplete: other.code != Some(0),
    }
}

/// An engine for samples that are short on the wire: its label in the table, its options, and a
/// sample.
struct BombedEngine {
    engine: &'static str,
    args: &'static [&'static str],
    sample: fn() -> Bytes,
}

const BOMBED: [BombedEngine; 5] = [
    BombedEngine { engine: "none", args: &["--engine", "none"], sample: zeros },
    BombedEngine {
        engine: "echo of 8 bytes",
        args: &["--engine", "echo", "--echo-answer-bytes", "8"],
        sample: zeros,
    },
    BombedEngine {
        engine: "echo of the sample",
        args: &["--engine", "echo", "--echo-answer-bytes", "0"],
        sample: zeros,
    },
    BombedEngine {
        engine: "echo of 8 MiB",
        args: &["--engine", "echo", "--echo-answer-bytes", "8MiB"],
        sample: zeros,
    },
    BombedEngine {
        engine: "torch, segmentation",
        args: &[
            "--engine",
            "torch",
            "--model",
            concat!(env!("CARGO_MANIFEST_DIR"), "/models/unet3d.toml"),
            // On a busy machine a batch may take longer than the node's default timeout.
            "--engine-timeout",
            "10m",
        ],
        sample: volume,
    },
];

/// Returns half as many zeros as a node admits.
fn zeros() -> Bytes {
    vec![0; (BYTES / 2) as usize].into()
}

/// Returns a volume of zeros. The model needs four times its bytes for the sums of the classes.
fn volume() -> Bytes {
    const SIDE: usize = 96;
    let data = vec![0; SIDE * SIDE * SIDE * size_of::<f32>()];
    let shape = vec![1, SIDE, SIDE, SIDE];
    pack(&[Tensor { data_type: DataType::Float32, shape, data: &data[..] }])
}

/// Measures a node with a client whose samples are short on the wire, and which reads its responses
/// late.
fn bombs(transport: &'static str, encoding: Encoding, engine: &BombedEngine) -> OverloadRow {
    const SAMPLES: u64 = 64;
    let payload = (engine.sample)();
    let situation = format!(
        "samples of {:.1} MiB compressed with {encoding}, {}",
        payload.len() as f64 / MIB as f64,
        engine.engine
    );
    eprintln!("{situation}, {transport}");
    let limits = limits();
    let limits: Vec<_> = limits.iter().map(String::as_str).collect();
    let node = SutNode::start("bombed", &[&limits, engine.args].concat());
    let before = node.peak_resident_bytes();
    let hold = Duration::from_secs(2);
    let bombs = Bombs { transport, encoding, samples: SAMPLES, payload, hold };
    let outcome = bombs.run(&node.address);
    OverloadRow {
        situation,
        transport,
        samples: Some(SAMPLES),
        incomplete: outcome.is_err(),
        verdict: outcome.err().unwrap_or_else(|| "every response".into()),
        loadgen: None,
        node: node.peak_resident_bytes(),
        // The memory of a model's program and weights is already in use.
        node_bound: bound::sut_node(1, true)
            .max(before + bound::sut_node(1, true) - bound::PROGRAM),
    }
}

/// Number of tokens of an output that is read slowly, as in the longest benchmark.
const LONG_OUTPUT: usize = 20_000;

/// Measures a node with long outputs and a client that reads them slowly.
fn slow_reader(transport: &'static str, tokens: Tokens) -> OverloadRow {
    let what = if tokens == Tokens::Every { "every token" } else { "whole outputs" };
    let situation = format!("a client that reads slowly, {LONG_OUTPUT} tokens each, {what}");
    eprintln!("{situation}, {transport}");
    let limits = [
        ("--max-in-flight-samples", PROMPTS),
        ("--max-in-flight-bytes", BYTES),
        ("--max-in-flight-tokens", TOKENS),
        ("--receive-window-bytes", WINDOW),
        ("--tokens-output", LONG_OUTPUT as u64),
    ];
    let limits = limits.iter().flat_map(|(key, value)| [(*key).to_owned(), value.to_string()]);
    let args: Vec<_> = ["--engine".to_owned(), "tokens".into()].into_iter().chain(limits).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let node = SutNode::start("slow", &args);
    let reader = SlowReader {
        transport,
        prompts: PROMPTS,
        output_tokens: LONG_OUTPUT,
        tokens,
        hold: FLOODING,
        pause: Duration::from_millis(1),
    };
    let outcome = reader.run(&node.address);
    OverloadRow {
        situation,
        transport,
        samples: Some(PROMPTS),
        incomplete: outcome.is_err(),
        verdict: outcome.err().unwrap_or_else(|| "every output".into()),
        loadgen: None,
        node: node.peak_resident_bytes(),
        node_bound: bound::sut_node_of_tokens(),
    }
}
