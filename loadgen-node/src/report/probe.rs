//! Table of `loadgen-node probe`.

use netdiv_machine::doctor::{AskedNode, SampleAnswer, SentSample};

use super::table;

pub(crate) fn render(nodes: &[AskedNode], sample: &SentSample) -> String {
    let SentSample { dataset, holds, index, bytes } = sample;
    let holds = holds.as_ref().map(|holds| format!(", {holds}")).unwrap_or_default();
    let titles =
        ["node", "engine", "model", "takes", "answer", "bytes", "1st, µs", "2nd, µs", "TTFT, µs"];
    let title = format!("sample {index} of {dataset}, twice to each node: {bytes} bytes{holds}");
    let table = table::table(titles, 5, nodes.iter().map(row));
    [title, table, verdict(nodes)].join("\n")
}

fn name(node: &AskedNode) -> &str {
    node.node.as_deref().unwrap_or(&node.address)
}

fn row(node: &AskedNode) -> [String; 9] {
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
        us(node.answers.last().and_then(|answer: &SampleAnswer| answer.first_token_ns)),
    ]
}

fn verdict(nodes: &[AskedNode]) -> String {
    let all = nodes.len();
    let count = |is_it: fn(&AskedNode) -> bool| nodes.iter().filter(|node| is_it(node)).count();
    let (lost, failed) = (count(|node| node.lost), count(|node| node.failure.is_some()));
    let sampled = count(|node| node.sampled);
    match (all, failed, count(|node| node.differs)) {
        (1, 0, _) => "the node answers".into(),
        (_, 0, 0) if sampled > 0 => {
            format!("all {all} nodes answer; outputs of {sampled} are sampled, and not compared")
        }
        (_, 0, 0) => format!("all {all} nodes answer alike"),
        (_, _, differ) => format!(
            "nodes: {lost} of {all} cannot be reached, {} failed, and {differ} answered differently",
            failed - lost
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_nodes_and_sampled_outputs_are_counted() {
        let node = AskedNode::default().failed("down", true);
        assert!(verdict(&[node]).starts_with("nodes: 1 of 1 cannot be reached, 0 failed, and 0 "));
        let sampled = AskedNode { sampled: true, ..AskedNode::default() };
        let said = verdict(&[sampled.clone(), sampled, AskedNode::default()]);
        assert_eq!(said, "all 3 nodes answer; outputs of 2 are sampled, and not compared");
    }
}
