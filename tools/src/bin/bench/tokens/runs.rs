//! Two nodes with the engine `tokens` and the LoadGen node, and LoadGen alone with a system on the
//! same schedule; prompts as samples.

use std::error::Error;

use bytes::Bytes;
use e2e::{LoadGen, SutNode};
use netdiv_contract::{
    layout::{self, DataType, TensorView},
    tokens,
};
use serde_json::Value;

use crate::server::loadgen_alone;

/// Number of tokens of an output.
pub const OUTPUT: u64 = 256;

/// Microseconds of the schedule: until the first token, and for each further token.
pub const FIRST_US: u64 = 5000;
pub const FURTHER_US: u64 = 100;

/// Figures of one run.
pub struct TokenFigures {
    pub samples_per_second: f64,
    /// 0 if LoadGen does not report it.
    pub tokens_per_second: f64,
    pub cpu_us_per_sample: f64,
    pub is_valid: bool,
    /// LoadGen's token latencies, if it reports them.
    pub times: Option<Times>,
}

/// Token latencies, in microseconds.
#[derive(Clone, Copy)]
pub struct Times {
    pub first_p50: f64,
    pub first_p99: f64,
    pub further_p50: f64,
    pub further_p99: f64,
}

impl Times {
    fn read(latencies: &Value) -> Option<Self> {
        let us = |name: &str| latencies[name].as_f64().map(|ns| ns / 1e3);
        Some(Self {
            first_p50: us("first_token_50.00")?,
            first_p99: us("first_token_99.00")?,
            further_p50: us("further_token_50.00")?,
            further_p99: us("further_token_99.00")?,
        })
    }
}

/// Starts two nodes with outputs of this length, and with more options.
pub fn nodes(options: &[&str]) -> [SutNode; 2] {
    let output = OUTPUT.to_string();
    let engine = ["--engine", "tokens", "--tokens-output", &output];
    ["a", "b"].map(|name| SutNode::start(name, &[&engine[..], options].concat()))
}

/// Starts two nodes whose tokens arrive on schedule.
pub fn nodes_on_schedule() -> [SutNode; 2] {
    let [first, further] = [FIRST_US, FURTHER_US].map(|us| format!("{us}us"));
    let pace = ["--tokens-ttft", &first, "--tokens-tpot", &further];
    // Room for more outputs than are in progress at any rate on a few cores.
    nodes(&[&pace[..], &["--max-batch", "16384"]].concat())
}

/// Makes a run at this rate, of this number of milliseconds, in which LoadGen counts tokens.
pub fn over_network(
    nodes: &[SutNode],
    scenario: &str,
    rate: u64,
    ms: u64,
) -> Result<TokenFigures, Box<dyn Error>> {
    measure(nodes, run(nodes, scenario, rate, ms).counting_tokens())
}

/// Returns a run at this rate, of this number of milliseconds, which the caller may change.
pub fn run(nodes: &[SutNode], scenario: &str, rate: u64, ms: u64) -> LoadGen {
    let addresses: Vec<_> = nodes.iter().map(|node| node.address.as_str()).collect();
    LoadGen::new(&addresses, scenario)
        .args(&["--benchmark", "chat", "--dataset", &format!("synthetic-ids:4096x{PROMPT}")])
        .short(ms, rate)
}

/// Makes a run against these nodes.
pub fn measure(nodes: &[SutNode], run: LoadGen) -> Result<TokenFigures, Box<dyn Error>> {
    let cpu = || nodes.iter().map(SutNode::cpu_seconds).sum::<f64>();
    let before = cpu();
    let outcome = run.run();
    let nodes_cpu = cpu() - before;
    let result = outcome.result();
    let verdict = result["verdict"].as_str().unwrap_or_default();
    if !["VALID", "INVALID"].contains(&verdict) {
        return Err(format!("the run is {verdict}: {}", result["reasons"]).into());
    }
    let number = |value: &Value| value.as_f64().ok_or("a number is missing");
    let cpu_seconds = number(&result["process"]["cpu_seconds"])? + nodes_cpu;
    Ok(TokenFigures {
        samples_per_second: number(&result["metric"]["value"])?,
        tokens_per_second: result["token_metric"]["value"].as_f64().unwrap_or_default(),
        cpu_us_per_sample: cpu_seconds * 1e6 / number(&result["samples"]["completed"])?,
        is_valid: verdict == "VALID",
        times: Times::read(&result["loadgen_latency_ns"]),
    })
}

/// Location of a system under test that sends tokens on the schedule without netdiv.
#[derive(Clone, Copy)]
pub enum BaselineSystem {
    /// In LoadGen's own process.
    InProcess,
    /// Behind a plain TCP connection.
    BehindSockets,
}

/// Makes a Server run at this rate with a system under test at this location. Returns its
/// latencies, and true if the run is VALID.
pub fn alone(system: BaselineSystem, rate: u64, ms: u64) -> Result<(Times, bool), Box<dyn Error>> {
    let prompt_bytes = prompts(1).iter().map(|prompt| prompt.len() as u64).sum();
    let schedule = [FIRST_US, FURTHER_US, OUTPUT, prompt_bytes];
    let schedule = match system {
        BaselineSystem::InProcess => &schedule[..3],
        BaselineSystem::BehindSockets => &schedule[..],
    };
    let line = loadgen_alone("server", rate, ms, schedule)?;
    let times = Times::read(&line["latency_ns"]);
    Ok((times.ok_or("LoadGen alone reported no token latencies")?, line["verdict"] == "VALID"))
}

/// Number of tokens of a prompt.
pub const PROMPT: usize = 1024;

/// Number of token ids: one more than the largest id.
pub const VOCABULARY: usize = 32_000;

/// Returns the ids of a prompt, different for each prompt.
pub fn ids(number: usize) -> Vec<i32> {
    (0..PROMPT).map(|place| ((number * 7919 + place * 31) % VOCABULARY) as i32).collect()
}

/// Returns this number of prompts.
pub fn prompts(count: usize) -> Vec<Bytes> {
    let prompt = |number| {
        let ids = tokens::to_bytes(&ids(number));
        let tensor = TensorView { data_type: DataType::Int32, shape: vec![PROMPT], data: &ids };
        layout::pack(&[tensor])
    };
    (0..count).map(prompt).collect()
}
