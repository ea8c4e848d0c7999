//! Compares the counts of a record's nodes with the settings that they published: batches (N20), the encoding of answers (N25).

use super::{checked_folder::Subject, findings::Findings};
use crate::{
    Rule::{self, N20, N25},
    result::{Evidence, Node},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (run, record) in subject.records() {
        let Some(evidence) = &record.evidence else { continue };
        for (rule, text) in record.nodes.iter().flat_map(|node| differences(node, evidence)) {
            let text = format!("{text}: take the record as the run wrote it");
            found.fail(rule, &run.record_place, text);
        }
    }
}

/// The published settings of a node; `None` where they are not TOML.
fn published(node: &Node, evidence: &Evidence) -> Option<toml::Table> {
    evidence.nodes.get(&node.name)?.settings.as_ref()?.parse().ok()
}

fn differences(node: &Node, evidence: &Evidence) -> Vec<(Rule, String)> {
    let Some(settings) = published(node, evidence) else { return Vec::new() };
    let name = &node.name;
    let mut wrong = Vec::new();
    let most = settings.get("max_batch").and_then(toml::Value::as_integer);
    let largest = node.batches.iter().filter(|(_, count)| **count > 0).map(|(size, _)| *size).max();
    if let (Some(most), Some(largest)) = (most, largest)
        && i64::from(largest) > most
    {
        wrong.push((
            N20,
            format!("node {name} had batches of {largest}, and its max_batch is {most}"),
        ));
    }
    let encoding = settings.get("response_encoding").and_then(toml::Value::as_str);
    let used = node.response_encodings.iter().map(ToString::to_string);
    let other = encoding.and_then(|encoding| used.into_iter().find(|used| used != encoding));
    wrong.extend(other.map(|used| {
        let encoding = encoding.unwrap_or_default();
        (
            N25,
            format!(
                "answers of node {name} came as {used}, and its response_encoding is {encoding}"
            ),
        )
    }));
    wrong
}
