//! The table of `loadgen-node tax`: network runs beside runs in one process.

use super::table;
use crate::record::{RunResult, Verdict};

/// One round.
pub(crate) struct Round {
    pub(crate) network: RunResult,
    pub(crate) alone: RunResult,
    /// Below 1 the network costs something.
    pub(crate) ratio: f64,
}

/// All rounds, of which there is at least one, and their median.
pub(crate) fn render(rounds: &[Round]) -> String {
    let titles = ["round", "network", "p99, ms", "one process", "p99, ms", "network / one process"];
    let row = |(place, round): (usize, &Round)| {
        let [network, network_p99] = figures(&round.network);
        let [alone, alone_p99] = figures(&round.alone);
        let ratio = format!("{:.4}", round.ratio);
        [(place + 1).to_string(), network, network_p99, alone, alone_p99, ratio]
    };
    let mut ratios: Vec<_> = rounds.iter().map(|round| round.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let count = ratios.len();
    let median = (ratios[(count - 1) / 2] + ratios[count / 2]) / 2.0;
    let (least, most) = (ratios[0], ratios[count - 1]);
    format!(
        "{}\n  median {median:.4}, {least:.4} to {most:.4} in {count} rounds\n  (! not valid; on one machine, so not a \
         result of the Network division)",
        table::table(titles, 0, rounds.iter().enumerate().map(row))
    )
}

/// The metric, marked where LoadGen does not call the run valid, and the 99th percentile of the latency.
fn figures(result: &RunResult) -> [String; 2] {
    let value = result.metric.as_ref().map_or(0.0, |metric| metric.value);
    let p99_ms = result.loadgen_latency_ns.get("99.00").map_or(0.0, |ns| ns / 1e6);
    let mark = if result.verdict == Verdict::Valid { "" } else { " !" };
    [format!("{value:.1}{mark}"), format!("{p99_ms:.2}")]
}
