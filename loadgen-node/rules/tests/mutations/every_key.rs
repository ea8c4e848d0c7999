//! Edits every compared key of the evidence, the system description and the measurements file
//! separately, drafts the other documents again, and leaves everything else as it was.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::stated::{FactFile, join, unclassified};
use super::{
    Outcome, report,
    tree::{EditableTree, HOME, SYSTEM},
};

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

/// Raises the value of each compared key in one copy of a valid tree, and lowers it in another.
/// Fails if the check reports neither change of a key.
fn unseen(valid: fn() -> EditableTree) {
    let tree = valid();
    let before = findings(&tree);
    let edits = edits(&tree);
    let is_unseen = |(source, key): &&(FactFile, String)| {
        ![true, false].into_iter().any(|up| {
            let tree = valid();
            edit(&tree, *source, key, up);
            findings(&tree).difference(&before).next().is_some()
        })
    };
    let unseen: Vec<_> = edits.iter().filter(is_unseen).collect();
    let (count, all) = (unseen.len(), edits.len());
    assert!(unseen.is_empty(), "{count} of {all} edits are not found: {unseen:#?}");
}

/// Lists each key that the table compares, with its file.
fn edits(tree: &EditableTree) -> Vec<(FactFile, String)> {
    let machine = format!("{HOME}/documentation/evidence/{}.json", NODES[0]);
    let files = [
        (FactFile::System, SYSTEM.to_owned()),
        (FactFile::Measurements, tree.measurements_file()),
        (FactFile::Evidence, machine),
    ];
    let keys = files.into_iter().flat_map(|(source, path)| {
        FactFile::keys(&tree.read(&path)).into_iter().map(move |key| (source, key))
    });
    keys.filter(|(source, key)| source.is_held(key)).collect()
}

/// Lists the texts of all findings that are not passes.
fn findings(tree: &EditableTree) -> BTreeSet<String> {
    let report = report(tree);
    let bad = report.findings().filter(|finding| finding.outcome != Outcome::Pass);
    bad.map(|finding| format!("{} {:?} {}", finding.rule, finding.outcome, finding.text)).collect()
}

fn edit(tree: &EditableTree, source: FactFile, key: &str, up: bool) {
    match source {
        FactFile::Evidence => tree.every_machine(&NODES, |machine| change(machine, "", key, up)),
        FactFile::System => tree.json(SYSTEM, |system| change(system, "", key, up)),
        FactFile::Measurements => {
            tree.json(&tree.measurements_file(), |file| change(file, "", key, up));
        }
    }
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
const WORDS: [&[&str]; 3] = [&["grpc", "quic"], &["none", "zstd"], &["uint8", "float32"]];

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
