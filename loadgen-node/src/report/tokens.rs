//! Tokens in the closing table of a run.

use crate::{
    record::{Distribution, RunResult},
    recording::PERCENTILES,
};

/// Returns true if LoadGen counts tokens.
pub(super) fn has_token_counts(result: &RunResult) -> bool {
    result.nodes.iter().any(|node| node.tokens.is_some())
}

/// Returns true if first tokens were reported.
pub(super) fn has_token_times(result: &RunResult) -> bool {
    result.nodes.iter().any(|node| node.tokens.as_ref().is_some_and(|t| t.first_ns.max > 0))
}

/// Returns the facts about the tokens of a run.
pub(super) fn facts(result: &RunResult) -> Vec<(&str, String)> {
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
    for (label, kind, bound) in [
        ("first token (TTFT)", "first_token", "server_ttft_latency"),
        ("each further (TPOT)", "further_token", "server_tpot_latency"),
    ] {
        facts.extend(times(result, kind, bound).map(|times| (label, times)));
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
/// the percentiles' keys, `bound` the field of LoadGen's TestSettings.
fn times(result: &RunResult, kind: &str, bound: &str) -> Option<String> {
    let percentile = |(name, shown): &(&str, &str)| {
        let ns = result.loadgen_latency_ns.get(&format!("{kind}_{name}"))?;
        Some(format!("{shown} {}", ms(*ns)))
    };
    let percentiles: Vec<_> = PERCENTILES.iter().filter_map(percentile).collect();
    let has_bounds = result
        .nodes
        .iter()
        .any(|node| node.tokens.as_ref().is_some_and(|t| t.within_bounds.is_some()));
    let bound = result.test_settings.get(bound).and_then(|ns| ns.parse().ok());
    let bound = bound.filter(|_| has_bounds).map(|ns| format!("; the bound for p99 is {}", ms(ns)));
    let text = format!("{} ms{}", percentiles.join(", "), bound.unwrap_or_default());
    (!percentiles.is_empty()).then_some(text)
}

fn ms(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}
