//! Compares LoadGen's rates and latencies with its samples and times, and with what the QDL counted
//! and measured: samples, tokens, latencies, and the duration of the test.

use netdiv_node_common::words::Mode;

use crate::{
    Scenario,
    official_log::{DetailLog, max_latency, test_duration, token_metric},
    record::{Distribution, Node, RunResult},
    subject::{Findings, Subject},
};

/// Relative tolerance of LoadGen's rates, which have six digits.
const DIGITS: f64 = 1e-4;

/// Relative tolerance between the record's duration and the duration that LoadGen's rate gives.
/// Their clocks differ, and Server's rate omits the last query.
const ROUNDING: f64 = 0.02;

/// Tolerance between the record's duration and the times of LoadGen's entries, in seconds.
const CLOCK_SECONDS: f64 = 1.0;

/// Maximum by which the duration that a clock around a test measures may exceed the test's own
/// duration: as a share, and in seconds. A run also loads samples and writes logs.
const CLOCK_MARGIN_SHARE: f64 = 0.05;
const AROUND_SECONDS: f64 = 60.0;

/// Factor by which a latency that the Query Dispatch Library measured may exceed LoadGen's. The
/// library measures within LoadGen's interval, so that its latencies are shorter, but its
/// histograms round to three digits.
const HISTOGRAM_DIGITS: f64 = 1.002;

/// Latency from which on nodes are not compared, in nanoseconds: the library's histograms end at an
/// hour.
const LONGEST_NS: u64 = 3_590_000_000_000;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    throughput(subject, found);
    for (run, record) in subject.records() {
        let Some(detail) = run.detail() else { continue };
        let mut at = found.at(&run.record_place);
        at.fail_each(other_duration(record, detail));
        if detail.mode() == Some(Mode::Performance) && record.mode == Mode::Performance {
            at.fail_each(other_tokens(record, detail));
            at.fail_each(longer_than_loadgens(record, detail));
        }
        at.or_pass("the QDL's tokens, latencies and times are those of LoadGen's log");
    }
    found.records(subject, |record| {
        record.answering_nodes().filter_map(|node| uncounted(record, node))
    });
}

fn throughput(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        let measures = detail.mode() == Some(Mode::Performance);
        let Some(scenario) = detail.scenario().filter(|_| run.is_performance() && measures) else {
            continue;
        };
        let Some(rate) = detail.throughput(scenario) else { continue };
        let counted = match scenario {
            Scenario::Offline => offline(detail),
            Scenario::Server => server(detail),
            Scenario::SingleStream | Scenario::MultiStream => continue,
        };
        let mut at = found.at(&run.place);
        at.fail_each(generated_otherwise(detail));
        at.fail_each(counted.and_then(|counted| compare_with_log(rate, counted)));
        if at.is_kept()
            && let Some(text) = run.result().and_then(|record| compare_with_clock(rate, record))
        {
            at.fail_at(&run.record_place, text);
        }
        at.or_pass("LoadGen's rate is the one that samples and time give");
    }
}

/// Returns a finding if the samples per query that LoadGen generated contradict the settings in
/// effect.
fn generated_otherwise(detail: &DetailLog) -> Option<String> {
    if !detail.logs_as_issued() {
        return None;
    }
    let key = "generated_samples_per_query";
    let (generated, wanted) = (detail.integer(key)?, detail.samples_per_query()?);
    (generated != wanted).then(|| {
        format!(
            "{key} is {generated}, and by the settings in effect it is {wanted}: submit the log as LoadGen wrote it"
        )
    })
}

/// Number of samples, and the minimum and maximum duration of answering them, in seconds, according
/// to LoadGen's log.
type SampleCount = (f64, f64, f64);

/// Returns the counts of Offline: the query's latency is the duration of the whole test.
fn offline(detail: &DetailLog) -> Option<SampleCount> {
    if !detail.logs_as_issued() {
        return None;
    }
    let time = max_latency(detail)?;
    Some((samples(detail)?, time, time))
}

/// Returns the counts of Server for all queries but the last: they take at least until the last
/// query is due, and at most the maximum latency longer.
fn server(detail: &DetailLog) -> Option<SampleCount> {
    let due = test_duration(Scenario::Server, detail)?;
    Some((samples(detail)? - 1.0, due, due + max_latency(detail)?))
}

fn samples(detail: &DetailLog) -> Option<f64> {
    Some(detail.number("result_query_count")? * detail.samples_per_query()? as f64)
}

fn compare_with_log(rate: f64, (samples, least, most): SampleCount) -> Option<String> {
    let time = samples / rate;
    (time < least * (1.0 - DIGITS) || time > most * (1.0 + DIGITS)).then(|| {
        format!(
            "by the log's rate {samples} samples took {time:.1} s, by its own times {least:.1} to {most:.1} s: submit the log as \
             LoadGen wrote it"
        )
    })
}

/// Returns a finding if the record's duration contradicts LoadGen's rate. The record's clock starts
/// before the test and stops after it.
fn compare_with_clock(rate: f64, record: &RunResult) -> Option<String> {
    let seconds = record.test_seconds;
    let time = record.samples.issued as f64 / rate;
    let most = time * (1.0 + CLOCK_MARGIN_SHARE) + AROUND_SECONDS;
    (!(time * (1.0 - ROUNDING)..=most).contains(&seconds)).then(|| {
        format!(
            "at LoadGen's rate the samples of the record take {time:.1} s, and its test_seconds is {seconds:.1}"
        )
    })
}

/// Returns a finding if the record's duration contradicts the times of the entries in LoadGen's
/// log. The record's clock ran from before the test until after it.
fn other_duration(record: &RunResult, detail: &DetailLog) -> Option<String> {
    let (seconds, last) = (record.test_seconds, detail.last_seconds()?);
    let most = last * (1.0 + CLOCK_MARGIN_SHARE) + AROUND_SECONDS;
    (!(last - CLOCK_SECONDS..=most).contains(&seconds)).then(|| {
        format!(
            "test_seconds is {seconds:.1}, and LoadGen wrote its log for {last:.1} s (time_ms): take the record as the run \
             wrote it"
        )
    })
}

/// Returns a finding if a node counted tokens although the run did not request it
/// (`use_token_latencies`), or if it did not count requested tokens.
fn uncounted(record: &RunResult, node: &Node) -> Option<String> {
    let are_counted = record.counts_tokens();
    (are_counted != node.tokens.is_some()).then(|| {
        let what = if are_counted { "has no tokens" } else { "has tokens" };
        format!("node {} {what}, and use_token_latencies is {are_counted}", node.name)
    })
}

/// Returns a finding if the nodes' tokens contradict LoadGen's rates. LoadGen divides tokens and
/// samples by the same duration, so that the quotient of the rates is the tokens per sample. In
/// Server, the rate of samples omits the last sample.
fn other_tokens(record: &RunResult, log: &DetailLog) -> Option<String> {
    let rate = log.throughput(record.scenario)?;
    let tokens = token_metric(record.scenario, log)?.value;
    let samples = match record.scenario {
        Scenario::Server => record.samples.completed.saturating_sub(1),
        _ => record.samples.completed,
    };
    let tokens_of_nodes = record.nodes.iter().filter_map(|node| node.tokens.as_ref());
    let counted = tokens_of_nodes.map(|one| one.total.saturating_sub(one.one_token_answers));
    let counted = counted.reduce(u64::saturating_add)? as f64;
    let logged = tokens / rate * samples as f64;
    ((logged - counted).abs() > counted * DIGITS + 1.0).then(|| {
        format!(
            "the nodes sent {counted} tokens, and by LoadGen's rates it received {logged:.0}: take the record and the log as \
             the run wrote them"
        )
    })
}

/// Returns a finding if a latency that the Query Dispatch Library measured exceeds LoadGen's.
fn longer_than_loadgens(record: &RunResult, detail: &DetailLog) -> Option<String> {
    let nodes: Vec<_> = record.nodes.iter().filter(|node| node.answered > 0).collect();
    let is_told = |node: &&Node| {
        node.lost.is_none() && node.redispatched == 0 && node.latency_ns.max < LONGEST_NS
    };
    let of_queries = record.scenario == Scenario::MultiStream;
    if of_queries || !nodes.iter().all(is_told) {
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
        (ours > logged * HISTOGRAM_DIGITS).then_some((what, ours, key, logged))
    });
    longer.map(|(what, ours, key, logged)| {
        format!(
            "the {what} of latency_ns at the nodes is {ours:.0}, and LoadGen, whose interval contains it, has {logged} \
             ({key}): take the record as the run wrote it"
        )
    })
}
