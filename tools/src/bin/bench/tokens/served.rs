//! A node in front of a serving engine, compared with a client in Python that sends the same
//! requests. Each has one core; the engine has no model and runs on the other cores.

use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use e2e::{SutNode, process::program};
use netdiv_qdl::{AnswerTokens, Settings};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;

use super::runs::{OUTPUT, PROMPT, VOCABULARY, prompts};
use crate::{
    meter::{Meter, median, spread},
    qdl,
    server::Server,
};

pub const NAME: &str = "tokens-served";

/// Number of concurrent outputs.
const TOGETHER: usize = 64;

/// Duration of each client's measurement.
const TIME: Duration = Duration::from_secs(2);

/// Microseconds between the tokens of an output, and the labels of the rows.
const ROWS: [(u64, &str); 2] =
    [(0, "as fast as it reads"), (4000, "64 outputs of 250 tokens/s each")];

/// Streams per second of the client's processor time.
struct Rates {
    node: f64,
    aiohttp: f64,
}

/// Returns the path of the Python with aiohttp, which `make bench` installs beside the programs.
pub fn python() -> Result<PathBuf, String> {
    let bench = program("bench");
    let target = bench.ancestors().nth(2).unwrap_or(Path::new("."));
    let python = target.join("aiohttp/bin/python");
    if python.is_file() {
        return Ok(python);
    }
    Err(format!("{} is missing; run `make bench`, which installs it", python.display()))
}

pub fn table(runs: usize) -> Result<String, Box<dyn Error>> {
    let python = python()?;
    let mut rounds = Vec::new();
    for run in 1..=runs {
        eprintln!("serving engines, round {run} of {runs}");
        let round = ROWS.map(|(tpot_us, _)| measure(&python, tpot_us));
        rounds.push(round.into_iter().collect::<Result<Vec<_>, _>>()?);
    }
    let mut text = format!(
        "| client of a serving engine, {PROMPT} tokens in, {OUTPUT} out | streams/s on a core | tokens/s on a core | ratio to aiohttp \
         |\n|---|---|---|---|\n"
    );
    for (place, (_, pace)) in ROWS.iter().enumerate() {
        let mut line = |name: &str, of: fn(&Rates) -> f64| {
            let rates: Vec<_> = rounds.iter().map(|round| of(&round[place])).collect();
            let ratios: Vec<_> =
                rounds.iter().map(|round| of(&round[place]) / round[place].aiohttp).collect();
            let tokens = median(rates.iter().copied()) * OUTPUT as f64;
            let (rates, ratios) = (spread(rates, 0), spread(ratios, 1));
            text.push_str(&format!("| {name}, {pace} | {rates} | {tokens:.0} | {ratios} |\n"));
        };
        line("Python's aiohttp", |rates| rates.aiohttp);
        line("**a node, engine `openai`**", |rates| rates.node);
    }
    Ok(text)
}

fn measure(python: &Path, tpot_us: u64) -> Result<Rates, Box<dyn Error>> {
    let start = || Server::start(&["serve-completions", &tpot_us.to_string()]);
    let server = started_on(CoreShare::Others, start)??;
    let url = format!("http://{}", server.address);
    Ok(Rates { node: node(&url)?, aiohttp: aiohttp(python, &url)? })
}

fn node(url: &str) -> Result<f64, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let model = folder.path().join("model.toml");
    let text = format!(
        "name = 'bench'\nvocabulary = {VOCABULARY}\nmax_input_tokens = {PROMPT}\nmax_tokens = {OUTPUT}\n"
    );
    fs::write(&model, text)?;
    let (model, together) = (model.display().to_string(), TOGETHER.to_string());
    let engine = ["--engine", "openai", "--url", url, "--model", &model];
    let start = || SutNode::start("served", &[&engine[..], &["--max-batch", &together]].concat());
    let node = started_on(CoreShare::Own, start)?;
    let mut settings = Settings::new(vec![node.address.clone()]);
    settings.tokens = AnswerTokens::First;
    // Only the node is metered: the LoadGen node would be on another machine.
    let meter = Meter::of([node.id()]);
    let (cost, streams) = qdl::send_for(TIME, &meter, settings, &prompts(TOGETHER))?;
    Ok(streams as f64 / cost.cpu_seconds)
}

fn aiohttp(python: &Path, url: &str) -> Result<f64, Box<dyn Error>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/bench/aiohttp_client.py");
    let mut client = Command::new(python);
    client.arg(script).arg(url);
    client.args([PROMPT as u64, OUTPUT, TOGETHER as u64, TIME.as_secs()].map(|n| n.to_string()));
    let client = started_on(CoreShare::Own, || client.stdout(Stdio::piped()).spawn())??;
    let output = client.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("{script} failed: {}", output.status).into());
    }
    let line: Value = serde_json::from_slice(&output.stdout)?;
    let number = |key: &str| {
        line[key].as_f64().ok_or_else(|| format!("the output of {script} has no {key}"))
    };
    Ok(number("streams")? / number("cpu_seconds")?)
}

/// Share of the cores on which a process runs.
#[derive(Clone, Copy)]
enum CoreShare {
    /// The measured process, on one core.
    Own,
    /// Peer of the measured process, on all other cores, or on the same core if there is no other.
    Others,
}

/// Calls `start` with the affinity of this role. Threads and processes that it starts keep the
/// affinity.
fn started_on<T>(share: CoreShare, start: impl FnOnce() -> T) -> io::Result<T> {
    let all = sched_getaffinity(None)?;
    let allowed = |core: &usize| all.is_set(*core);
    let mut cores = (0..CpuSet::MAX_CPU).filter(allowed);
    let own = cores.next().unwrap_or_default();
    let mut chosen = CpuSet::new();
    match share {
        CoreShare::Own => chosen.set(own),
        CoreShare::Others => {
            cores.chain((all.count() == 1).then_some(own)).for_each(|core| chosen.set(core))
        }
    }
    sched_setaffinity(None, &chosen)?;
    // Threads and processes inherit the affinity.
    let started = start();
    sched_setaffinity(None, &all)?;
    Ok(started)
}
