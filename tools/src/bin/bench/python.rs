//! Engines in Python: batches beside the engine `echo` and beside a bare loop in Python, and tokens
//! beside the engine `tokens`.

use std::{
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use e2e::{LoadGen, SutNode, process::program};
use netdiv_contract::encoding::Encoding;
use netdiv_qdl::{AnswerTokens, Settings};

use crate::{
    meter::{Meter, spread},
    qdl,
};

pub const NAME: &str = "python";

/// Duration of each measurement.
const TIME: Duration = Duration::from_secs(2);

/// Bytes per sample, and maximum batch.
const SHAPES: [(usize, usize); 2] = [(150_528, 32), (64, 256)];

const ANSWER_BYTES: usize = 8;

/// Engine of tensors. `WORK` is the time of a batch in ms, in which it computes.
const TENSORS: &str = "
import os, time
import numpy as np
from netdiv_engine import Tensor

WORK = float(os.environ['WORK']) / 1000

class Zeros:
    inputs = [Tensor('sample', 'uint8', (int(os.environ['BYTES']),))]
    outputs = [Tensor('zero', 'int64', ())]
    max_batch = int(os.environ['BATCH'])

    def infer(self, batch):
        until = time.perf_counter() + WORK
        while WORK and time.perf_counter() < until:
            pass
        return np.zeros(len(batch['sample']), np.int64)
";

/// Loop that runs the engine of the file without a node, and prints its batches per second.
const BARE: &str = "
import os, runpy, sys, time
import numpy as np

engine = runpy.run_path(sys.argv[1])['Zeros']()
batch = {'sample': np.zeros((engine.max_batch, int(os.environ['BYTES'])), np.uint8)}
begun, count = time.perf_counter(), 0
while time.perf_counter() - begun < 2:
    engine.infer(batch)
    count += 1
print(count / (time.perf_counter() - begun))
";

/// Language model that computes nothing.
const TOKENS: &str = "
import os

class Same:
    vocabulary, max_input_tokens, max_tokens = 32000, 1024, int(os.environ['TOKENS'])

    def generate(self, request):
        for _ in range(request.max_tokens):
            yield 7
";

/// Returns the Python that `make bench` installs beside the programs.
pub fn python() -> Result<PathBuf, String> {
    let bench = program("bench");
    let target = bench.ancestors().nth(2).unwrap_or(Path::new("."));
    let python = target.join("engine/bin/python");
    match python.is_file() {
        true => Ok(python),
        false => {
            Err(format!("{} is missing; run `make bench`, which installs it", python.display()))
        }
    }
}

/// Folder with the engines' files.
struct EngineFiles(tempfile::TempDir);

impl EngineFiles {
    fn new() -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        for (name, text) in [("tensors.py", TENSORS), ("bare.py", BARE), ("tokens.py", TOKENS)] {
            fs::write(folder.path().join(name), text.trim_start())?;
        }
        Ok(Self(folder))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// Starts a node with an engine's file and environment variables.
    fn node(&self, name: &str, variables: &[(&str, String)]) -> Result<SutNode, Box<dyn Error>> {
        let (python, file) = (python()?.display().to_string(), self.path(name));
        let args = ["--engine", "python", "--model", &file, "--python", &python];
        let node = SutNode::start_with("python", variables, &args);
        Ok(node)
    }

    fn tensors(&self, bytes: usize, batch: usize, work: u32) -> Result<SutNode, Box<dyn Error>> {
        self.node("tensors.py", &variables(bytes, batch, work))
    }
}

fn variables(bytes: usize, batch: usize, work: u32) -> [(&'static str, String); 3] {
    [("BYTES", bytes.to_string()), ("BATCH", batch.to_string()), ("WORK", work.to_string())]
}

/// Returns the batches per second of a node that receives this number of full batches as one query.
fn batches_per_second(
    node: &SutNode,
    (bytes, batch): (usize, usize),
    encoding: Encoding,
    batches: usize,
) -> Result<f64, Box<dyn Error>> {
    let settings = Settings::new(vec![node.address.clone()]);
    let meter = Meter::of([node.id()]);
    let payloads = qdl::payloads(bytes);
    let cost = qdl::send_encoded(&meter, settings, &payloads, encoding, batches * batch)?;
    Ok(batches as f64 / cost.seconds)
}

/// Returns the samples per second of a node that receives queries of 64 MB.
fn rate(node: &SutNode, bytes: usize) -> Result<f64, Box<dyn Error>> {
    let settings = Settings::new(vec![node.address.clone()]);
    let (cost, samples) =
        qdl::send_for(TIME, &Meter::of([node.id()]), settings, &qdl::payloads(bytes))?;
    Ok(samples as f64 / cost.seconds)
}

pub fn tables(runs: usize) -> Result<String, Box<dyn Error>> {
    let engines = EngineFiles::new()?;
    Ok(format!("{}\n{}", tensors(&engines, runs)?, tokens(&engines, runs)?))
}

fn tensors(engines: &EngineFiles, runs: usize) -> Result<String, Box<dyn Error>> {
    let mut text = String::from("| engine in Python | samples/s | comparison |\n|---|---|---|\n");
    for (bytes, batch) in SHAPES {
        let (mut rates, mut ratios) = (Vec::new(), Vec::new());
        for run in 1..=runs {
            eprintln!("{bytes} B, round {run} of {runs}");
            let most = batch.to_string();
            let answer = ANSWER_BYTES.to_string();
            let echo =
                ["--max-batch", &most, "--echo-answer-bytes", &answer, "--batch-timeout", "1ms"];
            let echo = rate(&SutNode::echo("echo", &echo), bytes)?;
            let own = rate(&engines.tensors(bytes, batch, 0)?, bytes)?;
            rates.push(own);
            ratios.push(own / echo);
        }
        let (rates, ratios) = (spread(rates, 0), spread(ratios, 2));
        writeln!(text, "| zeros, {batch} × {bytes} B | {rates} | {ratios} of the engine `echo` |")?;
    }
    let shape @ (bytes, batch) = SHAPES[0];
    let encodings = [Encoding::None, Encoding::Lz4];
    let mut computing = encodings.map(|_| (Vec::new(), Vec::new()));
    for run in 1..=runs {
        eprintln!("5 ms a batch, round {run} of {runs}");
        let bare = Command::new(python()?)
            .args([engines.path("bare.py"), engines.path("tensors.py")])
            .env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/../python/netdiv-engine/src"))
            .envs(variables(bytes, batch, 5))
            .output()?;
        let bare: f64 = String::from_utf8(bare.stdout)?.trim().parse()?;
        for (encoding, (rates, losses)) in encodings.into_iter().zip(&mut computing) {
            let node = engines.tensors(bytes, batch, 5)?;
            // At the end of a query, the model would wait.
            let own = batches_per_second(&node, shape, encoding, 400)?;
            rates.push(own * batch as f64);
            losses.push(100.0 * (1.0 - own / bare));
        }
    }
    for (sent, (rates, losses)) in ["", ", sent as lz4, which is short"].iter().zip(computing) {
        let (rates, losses) = (spread(rates, 0), spread(losses, 1));
        writeln!(
            text,
            "| 5 ms a batch, {batch} × {bytes} B{sent} | {rates} | {losses} % fewer than a bare loop |"
        )?;
    }
    Ok(text)
}

fn tokens(engines: &EngineFiles, runs: usize) -> Result<String, Box<dyn Error>> {
    const TOKENS: usize = 4096;
    const FEW: usize = 2;
    let (mut steps, mut added) = (Vec::new(), Vec::new());
    for run in 1..=runs {
        eprintln!("tokens in Python, round {run} of {runs}");
        let node = engines.node("tokens.py", &[("TOKENS", TOKENS.to_string())])?;
        let mut settings = Settings::new(vec![node.address.clone()]);
        settings.tokens = AnswerTokens::Counted;
        let prompts = crate::tokens::runs::prompts(16);
        let (cost, outputs) = qdl::send_for(TIME, &Meter::of([node.id()]), settings, &prompts)?;
        steps.push((outputs * TOKENS) as f64 / cost.seconds);
        let own = engines.node("tokens.py", &[("TOKENS", FEW.to_string())])?;
        let output = FEW.to_string();
        let other = [
            "--engine",
            "tokens",
            "--tokens-output",
            &output,
            "--tokens-ttft",
            "0us",
            "--tokens-tpot",
            "0us",
        ];
        let other = SutNode::start("tokens", &other);
        added.push(first_token(&own)? - first_token(&other)?);
    }
    let (steps, added) = (spread(steps, 0), spread(added, 0));
    Ok(format!(
        "| tokens in Python | |\n|---|---|\n| steps per second, one output at a time | {steps} |\n| first token after that of \
         the engine `tokens`, p50 | {added} µs |\n"
    ))
}

/// Returns the median time to the first token at a low rate, in microseconds.
fn first_token(node: &SutNode) -> Result<f64, Box<dyn Error>> {
    let run = LoadGen::new(&[&node.address], "server");
    let run = run.args(&["--benchmark", "chat", "--dataset", "synthetic-ids:1024x128"]);
    let result = run.short(3000, 100).counting_tokens().run().result();
    let first = result["loadgen_latency_ns"]["first_token_50.00"].as_f64();
    Ok(first.ok_or("LoadGen reported no token latencies")? / 1e3)
}
