//! Judges latencies: the figures of each distribution must rise from minimum to maximum, the number
//! of late queries must agree with the maximum, and the QDL's latencies must not exceed LoadGen's.

use netdiv_node_common::words::Mode;

use crate::{
    Scenario,
    official_log::DetailLog,
    record::{Distribution, Node, RunResult},
    subject::{Findings, Subject},
};

/// Percentiles of latency that LoadGen logs, as its keys contain them.
const PERCENTILES: [&str; 6] = ["50.00", "90.00", "95.00", "97.00", "99.00", "99.90"];

/// Keys of the minimum, the percentiles, the maximum and the mean of each kind of latency; `#`
/// stands for the percentile.
const KINDS: [[&str; 4]; 4] = [
    [
        "result_min_latency_ns",
        "result_#_percentile_latency_ns",
        "result_max_latency_ns",
        "result_mean_latency_ns",
    ],
    [
        "result_min_query_latency_ns",
        "result_#_percentile_per_query_latency_ns",
        "result_max_query_latency_ns",
        "result_mean_query_latency_ns",
    ],
    [
        "result_first_token_min_latency_ns",
        "result_first_token_#_percentile_latency_ns",
        "result_first_token_max_latency_ns",
        "result_first_token_mean_latency_ns",
    ],
    [
        "result_time_to_output_token_min",
        "result_time_per_output_token_#_percentile_ns",
        "result_time_to_output_token_max",
        "result_time_to_output_token_mean",
    ],
];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run, detail) in subject.details().filter(|(_, run, _)| run.is_performance()) {
        let mut at = found.at(&run.place);
        at.fail_each(KINDS.iter().filter_map(|kind| disorder(kind, detail)));
        if at.is_kept() && entry.scenario == Some(Scenario::Server) {
            at.fail_each(late(detail));
        }
        at.or_pass("LoadGen's latencies are in order");
    }
    for (run, record) in subject.records() {
        // `tallies.rs` finds percentiles of a node that are not in order.
        let is_ordered = |node: &Node| node.times().iter().all(|(_, times)| times.is_ordered());
        let detail = run.detail().filter(|detail| detail.mode() == Some(Mode::Performance));
        let detail = detail.filter(|_| record.nodes.iter().all(is_ordered));
        let longer = detail.and_then(|detail| longer_than_loadgens(record, detail));
        found.at(&run.record_place).fail_each(longer);
    }
}

/// Factor by which a latency that the Query Dispatch Library measured may exceed LoadGen's. The
/// library measures within LoadGen's interval, so that its latencies are shorter, but its
/// histograms round to three digits.
const DIGITS: f64 = 1.002;

/// Latency from which on nodes are not compared, in nanoseconds: the library's histograms end at an
/// hour.
const LONGEST_NS: u64 = 3_590_000_000_000;

fn longer_than_loadgens(record: &RunResult, detail: &DetailLog) -> Option<String> {
    let nodes: Vec<_> = record.nodes.iter().filter(|node| node.answered > 0).collect();
    let is_told = |node: &&&Node| {
        node.lost.is_none() && node.redispatched == 0 && node.latency_ns.max < LONGEST_NS
    };
    let of_queries = record.scenario == Scenario::MultiStream;
    if of_queries
        || record.mode != Mode::Performance
        || nodes.iter().filter(is_told).count() < nodes.len()
    {
        return None;
    }
    let answered: f64 = nodes.iter().map(|node| node.answered as f64).sum();
    let sum: f64 = nodes.iter().map(|node| node.answered as f64 * node.latency_ns.mean).sum();
    // The minimum of the nodes' percentiles is at most the percentile of all samples.
    let least = |of: fn(&Distribution) -> u64| {
        nodes.iter().map(|node| of(&node.latency_ns)).min().unwrap_or(0) as f64
    };
    let most = nodes.iter().map(|node| node.latency_ns.max).max().unwrap_or(0) as f64;
    let pairs = [
        ("mean", sum / answered.max(1.0), "result_mean_latency_ns"),
        ("50th percentile", least(|times| times.p50), "result_50.00_percentile_latency_ns"),
        ("90th percentile", least(|times| times.p90), "result_90.00_percentile_latency_ns"),
        ("99th percentile", least(|times| times.p99), "result_99.00_percentile_latency_ns"),
        ("99.9th percentile", least(|times| times.p99_9), "result_99.90_percentile_latency_ns"),
        ("maximum", most, "result_max_latency_ns"),
    ];
    let longer = pairs.into_iter().find_map(|(what, ours, key)| {
        let logged = detail.number(key)?;
        (ours > logged * DIGITS).then_some((what, ours, key, logged))
    });
    longer.map(|(what, ours, key, logged)| {
        format!(
            "the {what} of latency_ns at the nodes is {ours:.0}, and LoadGen, whose interval contains it, has {logged} \
             ({key}): take the record as the run wrote it"
        )
    })
}

/// Returns a finding if the figures of a distribution do not rise from the minimum through the
/// percentiles to the maximum, or if the mean is not between minimum and maximum. The array
/// contains the keys, as in [`KINDS`].
fn disorder([least, percentile, greatest, mean]: &[&str; 4], detail: &DetailLog) -> Option<String> {
    let percentiles = PERCENTILES.map(|share| percentile.replace('#', share));
    let keys =
        [*least].into_iter().chain(percentiles.iter().map(String::as_str)).chain([*greatest]);
    let rising = keys.filter_map(|key| Some((key, detail.number(key)?))).collect::<Vec<_>>();
    let first = rising.windows(2).find_map(|pair| match pair {
        [(low, less), (high, more)] if less > more => Some((*low, *less, *high, *more)),
        _ => None,
    });
    // LoadGen adds latencies in 64 bits. For many samples the sum overflows, so that the mean is
    // wrong.
    let samples = detail.number("result_query_count").zip(detail.samples_per_query());
    let sum = samples.map(|(queries, samples)| queries * samples as f64);
    let sum = sum.zip(detail.number(greatest)).map(|(samples, most)| samples * most);
    let has_mean = sum.is_none_or(|sum| sum < i64::MAX as f64);
    let outside = || {
        let average = detail.number(mean).filter(|_| has_mean)?;
        let over = detail.number(greatest).filter(|most| average > *most);
        let under = detail.number(least).filter(|less| average < *less);
        let over = over.map(|most| (*mean, average, *greatest, most));
        over.or_else(|| under.map(|less| (*least, less, *mean, average)))
    };
    first.or_else(outside).map(|(low, less, high, more)| {
        format!(
            "{low} is {less}, more than {high}, which is {more}: submit the log as LoadGen wrote it"
        )
    })
}

/// Returns a finding if the number of late queries contradicts the maximum latency. A query is late
/// if it took longer than the bound. If tokens are measured, the whole query has no bound.
fn late(detail: &DetailLog) -> Option<String> {
    let bound = detail.number("effective_target_latency_ns").filter(|bound| *bound > 0.0)?;
    let late = detail.integer("result_overlatency_query_count")?;
    let greatest = detail.number("result_max_latency_ns")?;
    ((late > 0) != (greatest > bound)).then(|| {
        format!(
            "{late} queries were late (result_overlatency_query_count), and the greatest latency is {greatest} ns with a bound of \
             {bound} ns: submit the log as LoadGen wrote it"
        )
    })
}
