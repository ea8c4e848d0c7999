//! Two nodes that differ in speed, compared with each node alone and with one node that is as fast
//! as both. Token times are scheduled, so the cores do not limit the rates.

use std::error::Error;

use e2e::SutNode;

use crate::{
    meter::spread,
    tokens::runs::{self, Times, TokenFigures},
};

/// Number of outputs that a node makes at a time.
const SLOTS: u64 = 20;

/// Ratio of the slow node's times to the fast node's.
const SLOWER: f64 = 2.5;

/// Slots of a node with the fast node's times that is as fast as both nodes.
const EQUAL_SLOTS: u64 = (SLOTS as f64 * (1.0 + 1.0 / SLOWER)) as u64;

/// Range of the number of tokens of an output: 33 on average. The prompt determines the number, so
/// an output has as many tokens at each node.
const OUTPUT: &str = "17-49";

/// Microseconds of the fast node: until the first token, and for each further token. An output
/// takes half a second on average.
const FIRST_US: f64 = 20_000.0;
const FURTHER_US: f64 = 15_000.0;

/// Samples per second of the fast and of the slow node, by their slots and times.
const EXPECTED: [u64; 2] = [40, 16];

/// Minimum duration of runs, in milliseconds.
const OFFLINE_MS: u64 = 60_000;
const SERVER_MS: u64 = 25_000;

/// Rate in Server, as a share of the sum of both nodes' rates in Offline.
const LOAD: f64 = 0.88;

/// Bounds in Server: 1 s for the first token and 50 ms for each further token.
const BOUNDS: [&str; 3] =
    ["use_token_latencies=true", "server_ttft_latency=1000000000", "server_tpot_latency=50000000"];

const OFFLINE_ROWS: [&str; 3] = ["the fast node alone", "the slow node alone", "**both nodes**"];

/// Rows of Server: label, true if the run uses both nodes, and options of the run.
const SERVER_ROWS: [(&str, bool, &[&str]); 3] = [
    ("one node that is as fast as both", false, &[]),
    ("**both nodes**", true, &[]),
    ("both nodes, `--policy round-robin`", true, &["--policy", "round-robin"]),
];

/// Figures of a round, by row.
struct Round {
    offline: [TokenFigures; 3],
    server: Vec<(Times, bool)>,
}

impl Round {
    /// Returns the sum of the samples per second of each node alone.
    fn sum(&self) -> f64 {
        let [fast, slow, _] = &self.offline;
        fast.samples_per_second + slow.samples_per_second
    }
}

pub fn table(runs: usize) -> Result<String, Box<dyn Error>> {
    let both = [node("fast", SLOTS, 1.0), node("slow", SLOTS, SLOWER)];
    let one = [node("one", EQUAL_SLOTS, 1.0)];
    let mut rounds = Vec::new();
    for run in 1..=runs {
        eprintln!("nodes that differ, round {run} of {runs}");
        rounds.push(measure(&both, &one)?);
    }
    let valid = |is_valid: &dyn Fn(&Round) -> bool| {
        let count = rounds.iter().filter(|round| is_valid(round)).count();
        format!("{count} of {runs}")
    };
    let mut text = format!(
        "The fast node has {SLOTS} slots, in which an output takes 0.5 s on average. The slow node has as many and takes \
         {SLOWER} times as long. The node that is as fast as both has {EQUAL_SLOTS} slots with the fast node's times.\n\n\
         | Offline, {} s | samples/s | ratio to the sum of each node alone | VALID runs |\n|---|---|---|---|\n",
        OFFLINE_MS / 1000
    );
    for (place, label) in OFFLINE_ROWS.iter().enumerate() {
        let rate = |round: &Round| round.offline[place].samples_per_second;
        text.push_str(&format!(
            "| {label} | {} | {} | {} |\n",
            spread(rounds.iter().map(rate), 1),
            spread(rounds.iter().map(|round| rate(round) / round.sum()), 3),
            valid(&|round| round.offline[place].is_valid),
        ));
    }
    text.push_str(&format!(
        "\n| Server, {:.0} % of that sum | TTFT, p50 | p99 | ratio of p99 to one node | VALID runs |\n|---|---|---|---|---|\n",
        LOAD * 100.0
    ));
    for (place, (label, ..)) in SERVER_ROWS.iter().enumerate() {
        let p99 = |round: &Round, place: usize| round.server[place].0.first_p99;
        text.push_str(&format!(
            "| {label} | {} ms | {} ms | {} | {} |\n",
            spread(rounds.iter().map(|round| round.server[place].0.first_p50 / 1e3), 1),
            spread(rounds.iter().map(|round| p99(round, place) / 1e3), 0),
            spread(rounds.iter().map(|round| p99(round, place) / p99(round, 0)), 2),
            valid(&|round| round.server[place].1),
        ));
    }
    Ok(text)
}

/// Starts a node whose times are `slower` times those of the fast node.
fn node(name: &str, slots: u64, slower: f64) -> SutNode {
    let [first, further] = [FIRST_US, FURTHER_US].map(|us| format!("{:.0}us", us * slower));
    let pace = ["--tokens-ttft", &first, "--tokens-tpot", &further];
    let engine = ["--engine", "tokens", "--tokens-output", OUTPUT];
    SutNode::start(name, &[&engine[..], &pace, &["--max-batch", &slots.to_string()]].concat())
}

/// Makes the runs of a round.
fn measure(both: &[SutNode; 2], one: &[SutNode; 1]) -> Result<Round, Box<dyn Error>> {
    let [fast, slow] = EXPECTED;
    let offline = |nodes: &[SutNode], rate| {
        runs::measure(nodes, runs::run(nodes, "offline", rate, OFFLINE_MS).patient())
    };
    let offline =
        [offline(&both[..1], fast)?, offline(&both[1..], slow)?, offline(both, fast + slow)?];
    let mut round = Round { offline, server: Vec::new() };
    let rate = (round.sum() * LOAD).round() as u64;
    for (_, is_both, options) in SERVER_ROWS {
        let nodes = if is_both { &both[..] } else { one };
        let run = runs::run(nodes, "server", rate, SERVER_MS).args(options);
        let run = BOUNDS.iter().fold(run, |run, bound| run.set(bound));
        let figures = runs::measure(nodes, run)?;
        let times = figures.times.ok_or("LoadGen reported no token latencies")?;
        round.server.push((times, figures.is_valid));
    }
    Ok(round)
}
