//! The table of `loadgen-node probe`.

use super::table;
use crate::probe::{Answered, Findings, Probed};

/// What the nodes answered, for the terminal.
pub(crate) fn render(findings: &Findings) -> String {
    let Findings { dataset, holds, sample, sample_bytes, nodes, .. } = findings;
    let holds = holds.as_ref().map(|holds| format!(", {holds}")).unwrap_or_default();
    let titles = [
        "node",
        "engine",
        "model",
        "takes",
        "answer",
        "bytes",
        "first, µs",
        "again, µs",
        "token, µs",
    ];
    let mut parts = vec![
        format!("sample {sample} of {dataset}: {sample_bytes} bytes{holds}"),
        table::table(titles, 5, nodes.iter().map(row)),
    ];
    parts.extend(nodes.iter().filter_map(trouble));
    parts.push(verdict(findings));
    parts.join("\n")
}

fn name(node: &Probed) -> &str {
    node.node.as_deref().unwrap_or(&node.address)
}

fn row(node: &Probed) -> [String; 9] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let us = |ns: Option<u64>| or_dash(ns.map(|ns| format!("{:.0}", ns as f64 / 1000.0)));
    let first = node.answers.first();
    [
        name(node).into(),
        or_dash(node.engine.clone()),
        or_dash(node.model.clone()),
        or_dash(node.takes.clone()),
        or_dash(first.map(|answer| answer.beginning.clone())),
        or_dash(first.map(|answer| answer.bytes.to_string())),
        us(first.map(|answer| answer.latency_ns)),
        us(node.answers.get(1).map(|answer| answer.latency_ns)),
        us(node.answers.last().and_then(|answer: &Answered| answer.first_token_ns)),
    ]
}

fn trouble(node: &Probed) -> Option<String> {
    let why = match &node.failure {
        Some(failure) => failure.as_str(),
        None if node.differs => {
            "its answer is not that of the other nodes; compare model, engine and settings"
        }
        None => return None,
    };
    Some(format!("  {} at {}: {why}", name(node), node.address))
}

fn verdict(findings: &Findings) -> String {
    let all = findings.nodes.len();
    let count =
        |is_it: fn(&Probed) -> bool| findings.nodes.iter().filter(|node| is_it(node)).count();
    if findings.alike {
        return match all {
            1 => "the node answers".into(),
            _ => format!("all {all} nodes answer, and alike"),
        };
    }
    let (lost, failed) = (count(|node| node.lost), count(|node| node.failure.is_some()));
    let differ = count(|node| node.differs);
    format!(
        "of {all} nodes {lost} cannot be reached, {} failed, and {differ} answered otherwise",
        failed - lost
    )
}
