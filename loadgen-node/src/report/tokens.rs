//! Tokens in the closing table of a run.

use super::table;
use crate::record::{Distribution, Node, RunResult, Tokens};

/// Percentiles that LoadGen logs: the name of each in LoadGen's log, and its label in the table.
const PERCENTILES: [(&str, &str); 4] =
    [("50.00", "p50"), ("90.00", "p90"), ("99.00", "p99"), ("99.90", "p99.9")];

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

/// Returns the table of nodes for a run with times of tokens, in place of the usual table.
pub(super) fn nodes(nodes: &[Node]) -> String {
    let titles = [
        "\nnode",
        "\nanswered",
        "tokens\nmean",
        "TTFT, ms\np50",
        "\np99",
        "\np99.9",
        "TPOT, ms\np50",
        "\np99",
        "mean ms in\nQDL queue",
        "\nnetwork",
        "\nSUT queue",
        "\nprefill",
        "\ndecode",
    ];
    let nodes = nodes.iter().filter_map(|node| Some((node, node.tokens.as_ref()?)));
    table::table(titles, 1, nodes.map(|(node, tokens)| row(node, tokens)))
}

fn row(node: &Node, tokens: &Tokens) -> [String; 13] {
    let at = |ns: u64| ms(ns as f64);
    let mean = |times: &Distribution| ms(times.mean);
    let (first, further, stages) = (&tokens.first_ns, &tokens.further_ns, &node.stages_ns);
    [
        node.name.clone(),
        node.answered.to_string(),
        format!("{:.1}", tokens.per_answer.mean),
        at(first.p50),
        at(first.p99),
        at(first.p99_9),
        at(further.p50),
        at(further.p99),
        mean(&stages.qdl_queue),
        mean(&stages.network),
        mean(&stages.sut_queue),
        mean(&tokens.prefill_ns),
        mean(&tokens.decode_ns),
    ]
}

fn ms(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}
