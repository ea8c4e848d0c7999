//! Edits every compared key separately: changes the key in one file, adapts the hashes and the
//! documents generated from runs, and leaves everything else as it was.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::stated::{FactFile, join, unclassified};
use super::{
    Outcome, report,
    tree::{EditableTree, HOME, SYSTEM},
};
use netdiv_rules::tree::{ACCURACY_LOG, DETAIL, SUMMARY};

/// Runs whose logs and records are edited: for each key, the first run that has it.
const RUNS: [&str; 5] = [
    "Server/performance",
    "Offline/performance",
    "Server/accuracy",
    "Server/digests",
    "Offline/TEST01",
];

/// The nodes of the valid trees.
const NODES: [&str; 2] = ["node-a", "node-b"];

#[test]
fn the_table_has_every_key() {
    for tree in [
        EditableTree::new(),
        EditableTree::of_llama(),
        EditableTree::of_chat(),
        EditableTree::of("network", "v6.0"),
    ] {
        let missing: Vec<_> = unclassified(tree.root()).unwrap().into_iter().collect();
        assert!(missing.is_empty(), "stated.toml lacks:\n{}", missing.join("\n"));
    }
}

#[test]
fn an_edit_of_any_key_is_found() {
    unseen(EditableTree::new);
}

#[test]
fn an_edit_of_any_key_of_a_language_model_is_found() {
    unseen(EditableTree::of_llama);
}

/// Edit of a key, in the first run that has it.
struct KeyEdit {
    source: FactFile,
    run: &'static str,
    key: String,
}

/// Raises the value of each compared key in one copy of a valid tree, and lowers it in another.
/// Fails if the check reports neither change of a key.
fn unseen(valid: fn() -> EditableTree) {
    let tree = valid();
    let before = findings(&tree);
    let edits = edits(&tree);
    let is_unseen = |KeyEdit { source, run, key }: &&KeyEdit| {
        ![true, false].into_iter().any(|up| {
            let tree = valid();
            edit(&tree, *source, run, key, up);
            findings(&tree).difference(&before).next().is_some()
        })
    };
    let unseen = edits.iter().filter(is_unseen);
    let unseen: Vec<_> =
        unseen.map(|KeyEdit { source, run, key }| format!("{source:?}: {key} {run}")).collect();
    let (count, all) = (unseen.len(), edits.len());
    assert!(unseen.is_empty(), "{count} of {all} edits are not found:\n{}", unseen.join("\n"));
}

/// Lists an edit for each key that the table compares.
fn edits(tree: &EditableTree) -> Vec<KeyEdit> {
    let mut edits = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |source: FactFile, run: &'static str, text: &str| {
        for key in source.keys(text) {
            let (kind, name) = source.entry(&key);
            let is_everywhere = source == FactFile::Evidence;
            let is_held = kind.is_held(name) && (!is_everywhere || kind.is_held_everywhere(name));
            if is_held && seen.insert((source, key.clone())) {
                edits.push(KeyEdit { source, run, key });
            }
        }
    };
    for run in RUNS {
        let mut requested = BTreeSet::new();
        // A submission has no logs of the run with digests.
        if run != "Server/digests" && tree.path(&tree.folder(run)).exists() {
            let [detail, summary] =
                [DETAIL, SUMMARY].map(|name| tree.read(&format!("{}/{name}", tree.folder(run))));
            requested = FactFile::DetailLog.keys(&detail);
            add(FactFile::DetailLog, run, &detail);
            add(FactFile::Summary, run, &summary);
        }
        let Some(mut record) = tree.record_of(run) else { continue };
        // LoadGen logs the settings of the scenario, but the record contains all settings.
        if let Some(settings) = record["test_settings"].as_object_mut() {
            settings.retain(|name, _| requested.contains(&format!("requested_{name}")));
        }
        // The accuracy log of a performance run is empty, and not submitted.
        if record["mode"] == "performance"
            && let Some(logs) = record["logs"].as_object_mut()
        {
            logs.remove(ACCURACY_LOG);
        }
        if let Some(fields) = record.as_object_mut() {
            fields.retain(|_, value| *value != json!({}));
        }
        add(FactFile::Record, run, &record.to_string());
    }
    add(FactFile::System, "", &tree.read(SYSTEM));
    add(FactFile::Measurements, "", &tree.read(&tree.measurements_file()));
    let machine = format!("{HOME}/documentation/evidence/{}.json", NODES[0]);
    add(FactFile::Evidence, "", &tree.read(&machine));
    edits
}

/// Lists the texts of all findings that are not passes.
fn findings(tree: &EditableTree) -> BTreeSet<String> {
    let report = report(tree);
    let bad = report.findings().filter(|finding| finding.outcome != Outcome::Pass);
    bad.map(|finding| format!("{} {:?} {}", finding.rule, finding.outcome, finding.text)).collect()
}

fn edit(tree: &EditableTree, source: FactFile, run: &str, key: &str, up: bool) {
    match source {
        FactFile::DetailLog => tree.log(run, DETAIL, |text| edited_log(&text, key, up)),
        FactFile::Summary => tree.log(run, SUMMARY, |text| edited_summary(&text, key, up)),
        FactFile::Record => tree.record_json(run, |record| change(record, "", key, up)),
        FactFile::Evidence => tree.every_machine(&NODES, |machine| change(machine, "", key, up)),
        FactFile::System => tree.json(SYSTEM, |system| change(system, "", key, up)),
        FactFile::Measurements => {
            tree.json(&tree.measurements_file(), |file| change(file, "", key, up));
        }
    }
}

fn edited_log(text: &str, key: &str, up: bool) -> String {
    let lines = text.lines().map(|line| {
        let entry = line.strip_prefix(":::MLLOG ").unwrap();
        let mut entry: Value = serde_json::from_str(entry).unwrap();
        if entry["key"] == key {
            entry["value"] = other(&entry["value"], up);
        }
        format!(":::MLLOG {entry}\n")
    });
    lines.collect()
}

fn edited_summary(text: &str, key: &str, up: bool) -> String {
    let lines = text.lines().map(|line| match line.split_once(':') {
        Some((name, value)) if name.trim() == key => {
            let value = value.trim();
            let new = value
                .parse()
                .map_or_else(|_| json!(value), |number: serde_json::Number| json!(number));
            let new = other(&new, up);
            format!("{name}: {}\n", new.as_str().map_or_else(|| new.to_string(), Into::into))
        }
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// Changes the first value whose path is `key`. `path` is the path of `value`. Returns true if
/// there was such a value.
fn change(value: &mut Value, path: &str, key: &str, up: bool) -> bool {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let at = |name: &str| join(path, name);
            fields.iter_mut().any(|(name, value)| change(value, &at(name), key, up))
        }
        Value::Array(items) if !items.is_empty() => {
            let path = format!("{path}[]");
            items.iter_mut().any(|item| change(item, &path, key, up))
        }
        _ => {
            let is_it = path == key;
            if is_it {
                *value = other(value, up);
            }
            is_it
        }
    }
}

/// Groups of words: an edit replaces a word by another one of its group.
const WORDS: [&[&str]; 8] = [
    &["VALID", "INVALID"],
    &["COMPLETE", "FAILED"],
    &["grpc", "quic"],
    &["none", "zstd"],
    &["server", "offline"],
    &["performance", "accuracy"],
    &["Yes", "NO"],
    &["uint8", "float32"],
];

/// Returns another value of the same kind; `up` selects one of two such values.
fn other(value: &Value, up: bool) -> Value {
    match value {
        Value::Null => json!(7),
        Value::Bool(is) => json!(!is),
        Value::Number(number) => match (number.as_u64(), up) {
            (Some(number), true) => json!(number.saturating_mul(3).saturating_add(7)),
            (Some(number), false) => json!(number / 3),
            (None, true) => json!(number.as_f64().unwrap() * 3.0 + 7.0),
            (None, false) => json!(number.as_f64().unwrap() / 3.0),
        },
        Value::String(text) => json!(other_text(text, up)),
        Value::Array(items) if items.is_empty() => json!(["something"]),
        Value::Array(items) => json!(items[1..]),
        Value::Object(fields) if fields.is_empty() => json!({"1": 7}),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), other(value, up))).collect()
        }
    }
}

fn other_text(text: &str, up: bool) -> String {
    if let Some(words) = WORDS.iter().find(|words| words.contains(&text)) {
        return words.iter().find(|word| **word != text).unwrap().to_string();
    }
    match text.parse::<serde_json::Number>() {
        Ok(number) => other(&Value::Number(number), up).to_string(),
        Err(_) if text.contains("2025") => text.replace("2025", if up { "2031" } else { "2019" }),
        Err(_) if up => format!("{text}x"),
        Err(_) => text.chars().rev().collect(),
    }
}
