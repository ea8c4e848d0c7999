//! N20: the SUT's configuration is named: the evidence contains the settings of every machine
//! (rules, section 6.2.3).

use netdiv_contract::v1::Machine;

use crate::{
    facts::machines::non_empty,
    input::files::sha256_of,
    record::{Evidence, Node, RunResult},
    subject::{Findings, RunEvidence, Subject, runs_with_evidence},
};

mod same_machines;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (place, nodes) in subject.shared_machines() {
        found.pass(place, format!("{nodes} are on one machine, and share its interfaces"));
    }
    for seen in runs_with_evidence(subject, found) {
        let mut at = found.at(seen.place);
        at.fail_each(settings_violations(&seen));
        at.or_pass("the settings of every node are recorded, with their hashes");
    }
    same_machines::judge(subject, found);
    found.records(subject, record_contradictions);
}

/// Returns contradictions between a record and the evidence of its machines.
fn record_contradictions(record: &RunResult) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some(evidence) = &record.evidence {
        wrong.extend(record.nodes.iter().filter_map(|node| too_large_batch(node, evidence)));
    }
    let Some(evidence) = record.network_evidence() else { return wrong };
    let is_node = |name: &String| record.nodes.iter().any(|node| node.name == *name);
    for name in evidence.nodes.keys().filter(|name| !is_node(name)) {
        wrong.push(format!("there is evidence of {name}, which is not a node of the run"));
    }
    wrong.extend(
        evidence.machines().flat_map(|(name, machine)| unknown_supplied_fields(name, machine)),
    );
    wrong
}

fn too_large_batch(node: &Node, evidence: &Evidence) -> Option<String> {
    let settings = evidence.published_settings(node)?;
    let most = settings.get("max_batch").and_then(toml::Value::as_integer)?;
    let sizes = node.batches.iter().filter(|(_, count)| **count > 0).map(|(size, _)| *size);
    let largest = sizes.max().filter(|largest| i64::from(*largest) > most)?;
    let name = &node.name;
    Some(format!("node {name} had batches of {largest}, and its max_batch is {most}"))
}

fn settings_violations(seen: &RunEvidence) -> Vec<String> {
    let loadgen = &seen.evidence.loadgen_node;
    let settings = wrong_settings(loadgen, None);
    let mut wrong: Vec<_> =
        settings.into_iter().map(|what| format!("the LoadGen node {what}")).collect();
    if seen.record.settings.is_empty() {
        wrong.push("the LoadGen node's own settings are not recorded".into());
    }
    for node in &seen.record.nodes {
        let name = &node.name;
        if let Some(machine) = seen.evidence.nodes.get(name) {
            let settings = wrong_settings(machine, Some(&node.config_sha256));
            wrong.extend(settings.into_iter().map(|what| format!("node {name} {what}")));
        }
    }
    wrong
}

/// Returns a finding for each field that an operator's evidence file states for a machine, but that
/// the description of a machine does not have.
fn unknown_supplied_fields(who: &str, machine: &Machine) -> Vec<String> {
    let fields = serde_json::to_value(machine).unwrap_or_default();
    let has = |path: &str| match path.split_once('.') {
        None => fields.get(path).is_some(),
        Some((list, rest)) => {
            let items = fields.get(list).and_then(|list| list.as_array()).into_iter().flatten();
            let mut names = items.filter_map(|item| item.get("name")?.as_str());
            names.any(|name| rest.strip_prefix(name).is_some_and(|field| field.starts_with('.')))
        }
    };
    let strangers = machine.supplied.iter().filter(|path| !has(path));
    let text = |path| {
        format!("the evidence file of {who} states `{path}`, and a machine has no such field")
    };
    strangers.map(text).collect()
}

/// Returns the faults of the settings in a machine's evidence, as phrases that follow the name of
/// the machine. `announced` is the SHA-256 of its settings that a node reported before the run;
/// `None` for the LoadGen node.
fn wrong_settings(machine: &Machine, announced: Option<&str>) -> Vec<String> {
    let mut wrong = Vec::new();
    let text = machine.settings.as_deref().filter(|text| !text.trim().is_empty());
    if text.is_none() {
        wrong.push("did not report its settings".to_owned());
    }
    let stated = non_empty(&machine.settings_sha256);
    match (text, stated) {
        (_, None) => wrong.push("did not report the SHA-256 of its settings".into()),
        (Some(text), Some(stated)) if sha256_of(text) != stated => wrong.push(
            "published settings whose SHA-256 differs from the reported one: take the evidence as the run recorded it".into(),
        ),
        _ => {}
    }
    match announced {
        Some("") => {
            wrong.push("did not report the SHA-256 of the settings that it ran with".into())
        }
        Some(announced) if stated.is_some_and(|stated| stated != announced) => {
            wrong.push(format!(
                "ran with settings of SHA-256 {announced}, and the recorded settings have {}",
                stated.unwrap_or_default()
            ));
        }
        _ => {}
    }
    wrong
}
