//! Table of `loadgen-node tax`: runs over the network beside runs in one process.

use super::table;
use crate::{
    comparison::Spread,
    record::{RunResult, Verdict},
};

/// Round of `loadgen-node tax`: a run over the network, and a run in one process.
pub(crate) struct Round {
    pub(crate) network: RunResult,
    pub(crate) in_process: RunResult,
    /// Ratio of the metrics: network to one process for a rate, one process to network for a
    /// latency. Below 1 the network has a cost.
    pub(crate) ratio: f64,
}

/// Returns all rounds and their median. Empty without rounds.
pub(crate) fn render(rounds: &[Round]) -> String {
    let titles = ["round", "network", "p99, ms", "one process", "p99, ms", "network / one process"];
    let row = |(place, round): (usize, &Round)| {
        let [network, network_p99] = figures(&round.network);
        let [alone, alone_p99] = figures(&round.in_process);
        let ratio = format!("{:.4}", round.ratio);
        [(place + 1).to_string(), network, network_p99, alone, alone_p99, ratio]
    };
    let ratios = rounds.iter().map(|round| round.ratio).collect();
    let Some(Spread { runs, median, least, most, .. }) = Spread::from_values(ratios) else {
        return String::new();
    };
    format!(
        "{}\n  median {median:.4}, {least:.4} to {most:.4}; rounds: {runs}\n  (!: not VALID; measured on one machine, so not a \
         result of the Network division)",
        table::table(titles, 0, rounds.iter().enumerate().map(row))
    )
}

/// Returns the metric, with an exclamation mark unless the run is VALID, and the 99th percentile of
/// the latency in milliseconds.
fn figures(result: &RunResult) -> [String; 2] {
    let value = result.metric.as_ref().map_or(0.0, |metric| metric.value);
    let p99_ms = result.loadgen_latency_ns.get("99.00").map_or(0.0, |ns| ns / 1e6);
    let mark = if result.verdict == Verdict::Valid { "" } else { " !" };
    [format!("{value:.1}{mark}"), format!("{p99_ms:.2}")]
}
