//! Compares the tokens in a record with its responses and with LoadGen's rates.

use netdiv_node_common::words::Mode;

use crate::{
    Scenario,
    official_log::{DetailLog, token_metric},
    record::{Node, RunResult, Tokens},
    subject::{Findings, Subject},
};

/// Relative tolerance of a quotient of two of LoadGen's rates, which have six digits.
const DIGITS: f64 = 1e-4;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        let detail = run.detail().filter(|detail| detail.mode() == Some(Mode::Performance));
        let logged = detail.filter(|_| record.mode == Mode::Performance);
        let other = logged.and_then(|log| counted_otherwise(record, log));
        if let Some(text) = other {
            found.fail(&run.record_place, text);
        }
    }
    found.records(subject, |record| {
        let uncounted = record.answering_nodes().filter_map(|node| uncounted(record, node));
        let miscounted =
            record.nodes_with_tokens().flat_map(|(node, tokens)| miscounted(node, tokens));
        uncounted.chain(miscounted)
    });
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

fn miscounted(node: &Node, tokens: &Tokens) -> Vec<String> {
    let Node { name, answered, .. } = node;
    let mut wrong = Vec::new();
    let mean = tokens.total as f64 / *answered as f64;
    if (mean - tokens.per_answer.mean).abs() > 0.001 * mean + 0.01 {
        wrong.push(format!(
            "node {name} sent {} tokens in {answered} responses, and per_answer has a mean of {}",
            tokens.total, tokens.per_answer.mean
        ));
    }
    if tokens.within_bounds.is_some_and(|within| within > *answered)
        || tokens.one_token_answers > *answered
        || tokens.finished_by_length.is_some_and(|cut| cut > *answered)
    {
        wrong.push(format!(
            "the token counts of node {name} cover more responses than the {answered} that it sent"
        ));
    }
    wrong
}

/// Returns a finding if the nodes' tokens contradict LoadGen's rates. LoadGen divides tokens and
/// samples by the same duration, so that the quotient of the rates is the tokens per sample. In
/// Server, the rate of samples omits the last sample.
fn counted_otherwise(record: &RunResult, log: &DetailLog) -> Option<String> {
    let rate = log.throughput(record.scenario)?;
    let tokens = token_metric(record.scenario, log)?.value;
    let samples = match record.scenario {
        Scenario::Server => record.samples.completed.saturating_sub(1),
        _ => record.samples.completed,
    };
    let counted =
        each(record).map(|(_, tokens)| tokens.total - tokens.one_token_answers.min(tokens.total));
    let counted = each(record).next().map(|_| counted.fold(0, u64::saturating_add))? as f64;
    let logged = tokens / rate * samples as f64;
    ((logged - counted).abs() > counted * DIGITS + 1.0).then(|| {
        format!(
            "the nodes sent {counted} tokens, and by LoadGen's rates it received {logged:.0}: take the record and the log as \
             the run wrote them"
        )
    })
}

fn each(record: &RunResult) -> impl Iterator<Item = (&Node, &Tokens)> {
    record.nodes.iter().filter_map(|node| Some((node, node.tokens.as_ref()?)))
}
