//! Closing table of a run.

use super::{columns, lateness, table};
use crate::{
    record::{DatasetPart, Distribution, Division, Metric, RunResult, Steady, broken_rules},
    recording::{PERCENTILES, histograms::Measure},
};

pub(crate) fn render(result: &RunResult) -> String {
    let mut lines = vec![format!(
        "{} {} {}: {}, {}",
        result.benchmark,
        result.scenario,
        result.mode,
        result.verdict,
        purpose(result)
    )];
    lines.extend(result.reasons.iter().map(|reason| format!("  {reason}")));
    lines.push(table::facts(facts(result)));
    lines.push(String::new());
    let digits = if columns::has_token_times(result) { 3 } else { 2 };
    let (titles, nodes) = columns::table(result, digits);
    lines.push(table::table_of_rows(titles, 1, nodes));
    lines.join("\n")
}

/// Returns the purpose of the run. A run that is not for a division is not an MLPerf result.
pub(super) fn purpose(result: &RunResult) -> String {
    let division = result.division.title();
    match (result.division, result.rehearsal) {
        (Division::Exploratory, _) => "exploratory".into(),
        (_, true) => format!("rehearsal for the {division} division"),
        (_, false) => format!("{division} division"),
    }
}

pub(super) fn facts(result: &RunResult) -> Vec<(&str, String)> {
    let mut facts = Vec::new();
    let broken = broken_rules(&result.findings);
    if !broken.is_empty() {
        facts.push(("rules violated", format!("{broken}; see result.json")));
    }
    let waived = broken_rules(&result.waived);
    if !waived.is_empty() {
        let division = result.division.title();
        facts.push((
            "waived",
            format!("{waived}: not required by the {division} division; see result.json"),
        ));
    }
    if let Some(metric) = &result.metric {
        let value = match metric.unit.as_str() {
            "ns" => format!("{:.3} ms", metric.value / 1e6),
            unit => format!("{:.1} {unit}", metric.value),
        };
        facts.push((&metric.name, value));
    }
    if let Some(Steady { seconds, samples_per_second, tokens_per_second }) = &result.steady {
        let tokens = tokens_per_second.map(|tokens| format!(", {tokens:.1} tokens/s"));
        let tokens = tokens.unwrap_or_default();
        let text = format!(
            "{samples_per_second:.1} samples/s{tokens} over {seconds:.1} s, without the first and the last tenth of the samples"
        );
        facts.push(("steady state", text));
    }
    facts.extend(token_facts(result));
    if let Some(accuracy) = &result.accuracy {
        let (value, Metric { unit, name, .. }) = (&accuracy.reported, &accuracy.metric);
        let (correct, total) = (accuracy.correct, accuracy.total);
        facts.push(("accuracy", format!("{value} {unit} {name} ({correct} of {total})")));
    }
    if let Some(command) = &result.official_accuracy {
        // The script follows the interpreter.
        let script = command.split(' ').nth(1).unwrap_or(command);
        facts.push(("accuracy", format!("the official script computes it: {script}")));
    }
    if let Some(limit) = result.settings.get("max_in_flight") {
        let text = format!(
            "{limit} samples over all nodes; times of nodes are netdiv's own, measured from sending, and not LoadGen's"
        );
        facts.push(("maximum in flight", text));
    }
    for shortage in &result.shortages {
        facts.push(("short of processors", shortage.to_string()));
    }
    for (label, text) in lateness::facts(result) {
        facts.push((label, text));
    }
    for node in result.nodes.iter().filter(|node| node.servers.len() > 1) {
        let requests: Vec<_> = node.servers.iter().map(|(at, n)| format!("{at} {n}")).collect();
        facts.push(("servers", format!("requests of node {}: {}", node.name, requests.join(", "))));
    }
    if let Some(DatasetPart { name, max_output_tokens }) = result.dataset_part {
        let samples = result.dataset_samples;
        facts.push((
            "part of data set",
            format!("{name}: {samples} samples, outputs of at most {max_output_tokens} tokens"),
        ));
    }
    let samples = &result.samples;
    // If tokens are measured, the whole response has no bound.
    let has_tokens = result.nodes.iter().any(|node| node.tokens.is_some());
    let late = samples.late.filter(|_| !has_tokens).map(|late| format!(", {late} late"));
    let late = late.unwrap_or_default();
    let (issued, completed, lost) = (samples.issued, samples.completed, samples.lost);
    facts.push(("samples", format!("{issued} issued, {completed} completed, {lost} lost{late}")));
    if let Some(digests) = &result.digests {
        let compared = digests.by_name().map(|(what, compared)| {
            format!("{} {what} with {} differences", compared.received, compared.differences)
        });
        facts.push(("digests", compared.join(", ")));
    }
    if let (Some(name), Some(ns)) = (&result.sut_name, result.get_sut_name_duration_ns) {
        facts.push(("SUT name", format!("{name} (returned in {} µs)", ns / 1000)));
    }
    facts
}

fn token_facts(result: &RunResult) -> Vec<(&str, String)> {
    let mut facts = Vec::new();
    if let Some(metric) = &result.token_metric {
        facts.push((metric.name.as_str(), format!("{:.1} {}", metric.value, metric.unit)));
    }
    let all = || result.nodes.iter().filter_map(|node| Some((node, node.tokens.as_ref()?)));
    let answered: u64 = all().map(|(node, _)| node.answered).sum();
    let total: u64 = all().map(|(_, tokens)| tokens.total).sum();
    if let Some(Distribution { mean, p50, p99, max, .. }) = &result.prompt_tokens {
        let text = format!("mean {mean:.2}, p50 {p50}, p99 {p99}, max {max}");
        facts.push(("tokens per prompt", text));
    }
    if answered > 0 {
        let max = all().map(|(_, tokens)| tokens.per_answer.max).max().unwrap_or_default();
        let mean = total as f64 / answered as f64;
        facts.push(("tokens per sample", format!("mean {mean:.2}, max {max}")));
    }
    let length: Option<u64> = all().map(|(_, tokens)| tokens.finished_by_length).sum();
    if let (Some(length), 1..) = (length, answered) {
        let stop = answered.saturating_sub(length);
        facts.push(("finish reasons", format!("stop {stop}, length {length}")));
    }
    for (label, kind, measure) in [
        ("first token (TTFT)", "first_token", Measure::FirstToken),
        ("each further (TPOT)", "further_token", Measure::FurtherToken),
    ] {
        facts.extend(token_times(result, kind, measure).map(|times| (label, times)));
    }
    let within: Option<u64> = all().map(|(_, tokens)| tokens.within_bounds).sum();
    if let (Some(within), Some(metric), 1..) = (within, &result.metric, answered) {
        let share = within as f64 / answered as f64;
        let goodput = metric.value * share;
        let text = format!("{goodput:.1} samples/s within both bounds ({:.2} %)", share * 100.0);
        facts.push(("goodput", text));
    }
    facts
}

/// Returns LoadGen's percentiles of a time of tokens, in ms, and its bound. `kind` is the prefix of
/// the percentiles' keys.
fn token_times(result: &RunResult, kind: &str, measure: Measure) -> Option<String> {
    let percentile = |(name, shown): &(&str, &str)| {
        let ns = result.loadgen_latency_ns.get(&format!("{kind}_{name}"))?;
        Some(format!("{shown} {:.3}", ns / 1e6))
    };
    let percentiles: Vec<_> = PERCENTILES.iter().filter_map(percentile).collect();
    let bound = lateness::bound(result, measure);
    let bound = bound.map(|(ms, _)| format!("; the bound for p99 is {ms:.3}"));
    let text = format!("{} ms{}", percentiles.join(", "), bound.unwrap_or_default());
    (!percentiles.is_empty()).then_some(text)
}
