//! Figures of a step, from the record of its run.

use super::settings::{SPREAD, SweepSettings};
use crate::{
    record::{Distribution, Metric, Node, RunResult, Shortage, Steady},
    recording::{
        RecordedRun,
        histograms::Measure,
        series::SeriesRow,
        sweep::{Load, Step},
    },
    run::distribution,
};

/// Place of a step in a sweep.
pub(super) struct Place {
    pub(super) nodes: usize,
    pub(super) load: f64,
    pub(super) searched: bool,
    pub(super) folder: String,
}

/// Returns the figures of a finished step.
pub(super) fn step(run: &RecordedRun, place: Place, settings: &SweepSettings) -> Step {
    let result = &run.result;
    let Place { nodes, load, searched, folder } = place;
    let [latency, first, further] = match settings.load {
        Load::Rate => ["", "first_token_", "further_token_"].map(|kind| by_loadgen(result, kind)),
        Load::Concurrency => [Measure::Latency, Measure::FirstToken, Measure::FurtherToken]
            .map(|measure| by_netdiv(run, measure)),
    };
    let (samples, seconds) = (result.samples.completed, result.test_seconds);
    let per_second = |count: f64| count / seconds.max(f64::EPSILON);
    let mean = |of: fn(&Node) -> f64| {
        let sum: f64 = result.nodes.iter().map(|node| of(node) * node.answered as f64).sum();
        sum / (samples.max(1) as f64)
    };
    let whole = mean(|node| node.latency_ns.mean).max(f64::EPSILON);
    let tokens: Option<u64> =
        result.nodes.iter().map(|node| node.tokens.as_ref().map(|tokens| tokens.total)).sum();
    let tokens = tokens.map(|tokens| tokens as f64).filter(|tokens| *tokens > 0.0);
    let steady = |of: fn(&Steady) -> Option<f64>| result.steady.as_ref().and_then(of);
    let by_metric = |metric: &Option<Metric>| metric.as_ref().map(|metric| metric.value);
    let latency_ns = latency.unwrap_or_default();
    let user_ns = latency_ns.mean.max(f64::EPSILON);
    Step {
        nodes,
        load,
        searched,
        folder,
        verdict: result.verdict,
        reasons: result.reasons.clone(),
        samples,
        passes: samples / settings.pass,
        seconds,
        window_seconds: result.steady.map(|steady| steady.seconds),
        samples_per_second: steady(|steady| Some(steady.samples_per_second))
            .or_else(|| by_metric(&result.metric))
            .unwrap_or_else(|| per_second(samples as f64)),
        tokens_per_second: steady(|steady| steady.tokens_per_second)
            .or_else(|| by_metric(&result.token_metric))
            .or_else(|| tokens.map(per_second)),
        tokens_per_second_per_user: tokens
            .map(|tokens| tokens / samples.max(1) as f64 / user_ns * 1e9),
        latency_ns,
        first_token_ns: first,
        further_token_ns: further,
        network_share: mean(|node| node.stages_ns.network.mean) / whole,
        qdl_share: mean(|node| node.stages_ns.qdl_queue.mean) / whole,
        lost: result.samples.lost,
        client_limit: client_limit(run, load, settings.load),
    }
}

/// Returns LoadGen's latencies, or its times for tokens of that kind, if it has any.
fn by_loadgen(result: &RunResult, kind: &str) -> Option<Distribution> {
    let at = |name: &str| result.loadgen_latency_ns.get(&format!("{kind}{name}")).copied();
    let whole = |name: &str| at(name).map(|ns| ns as u64);
    Some(Distribution {
        mean: at("mean")?,
        p50: whole("50.00")?,
        p90: whole("90.00")?,
        p99: whole("99.00")?,
        p99_9: whole("99.90")?,
        max: whole("max")?,
    })
}

/// Returns netdiv's own times, from sending, if there are any.
fn by_netdiv(run: &RecordedRun, measure: Measure) -> Option<Distribution> {
    run.histograms.of_all(measure).as_ref().map(distribution)
}

/// Minimum share of a step for which the LoadGen node has to lack a processor, to be its limit.
const LACKED: f64 = 0.1;

/// Returns the reason why the LoadGen node may have limited a step: it lacked processor time, or
/// issued its queries later than scheduled.
fn client_limit(run: &RecordedRun, load: f64, kind: Load) -> Option<String> {
    let mut shortages = run.result.shortages.iter();
    let is_short = |one: &&Shortage| one.is_of_loadgen_node() && one.lacked_share() >= LACKED;
    let is_rate = kind == Load::Rate;
    shortages
        .find(is_short)
        .map(ToString::to_string)
        .or_else(|| late_issue(&run.series, run.result.samples.issued, load).filter(|_| is_rate))
}

/// Time that LoadGen may be late with its last query, besides the spread of its random schedule.
const LATE_SECONDS: f64 = 2.0;

/// Compares the time at which LoadGen issued its last query with its schedule. While the QDL is
/// full, LoadGen waits for the nodes, and is not late itself.
fn late_issue(series: &[SeriesRow], issued: u64, rate: f64) -> Option<String> {
    let full = netdiv_qdl::Settings::new(Vec::new()).inbox_samples as u64 / 2;
    if series.iter().any(|row| row.waiting.is_some_and(|waiting| waiting >= full)) {
        return None;
    }
    let issuing = series.iter().filter(|row| row.issued.is_some_and(|issued| issued > 0));
    let end = issuing.map(|row| row.end_seconds).fold(0.0, f64::max);
    let issued = issued as f64;
    let scheduled = (issued + SPREAD * issued.sqrt()) / rate;
    (end > scheduled + LATE_SECONDS).then(|| {
        format!("LoadGen issued the last query after {end:.0} s, and its schedule ends before {scheduled:.0} s")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_issue_is_the_clients_unless_the_nodes_hold_it_up() {
        let row = |end: f64, issued, waiting| SeriesRow {
            end_seconds: end,
            issued: Some(issued),
            waiting: Some(waiting),
            ..SeriesRow::default()
        };
        let of = |rows: &[SeriesRow]| late_issue(rows, 1000, 100.0).is_some();
        assert!(!of(&[row(1.0, 999, 0), row(11.0, 1, 0), row(40.0, 0, 0)]));
        assert!(of(&[row(1.0, 999, 0), row(14.0, 1, 0)]));
        assert!(!of(&[row(1.0, 999, 40_000), row(14.0, 1, 0)]));
        assert!(!of(&[]));
    }
}
