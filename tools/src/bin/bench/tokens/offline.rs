//! Offline: throughput of two nodes that produce tokens at once.

use std::error::Error;

use e2e::SutNode;

use super::runs::{self, OUTPUT, PROMPT, TokenFigures};
use crate::meter::{median, spread};

/// Label of the row.
pub const LABEL: &str = "Offline, 1,024 tokens in, 256 out";

/// Samples per second that LoadGen expects. It issues as many samples as take this time at this
/// rate.
const RATE: u64 = 50_000;
const MILLISECONDS: u64 = 2000;

/// Makes one run.
pub fn measure(nodes: &[SutNode]) -> Result<TokenFigures, Box<dyn Error>> {
    runs::over_network(nodes, "offline", RATE, MILLISECONDS)
}

/// Starts nodes without delays.
pub fn nodes() -> [SutNode; 2] {
    runs::nodes(&[])
}

pub fn table(runs: usize) -> Result<String, Box<dyn Error>> {
    let nodes = nodes();
    let mut figures = Vec::new();
    for run in 1..=runs {
        eprintln!("{LABEL}, round {run} of {runs}");
        figures.push(measure(&nodes)?);
    }
    let of = |pick: fn(&TokenFigures) -> f64| figures.iter().map(pick).collect::<Vec<_>>();
    let cpu = median(of(|run| run.cpu_us_per_sample));
    Ok(format!(
        "| with LoadGen, two nodes | samples/s | tokens/s, out | CPU per sample, all processes | CPU per token, in and out \
         |\n|---|---|---|---|---|\n| {LABEL} | {} | {:.0} | {cpu:.2} µs | {:.1} ns |\n",
        spread(of(|run| run.samples_per_second), 0),
        median(of(|run| run.tokens_per_second)),
        cpu * 1e3 / (PROMPT as f64 + OUTPUT as f64),
    ))
}
