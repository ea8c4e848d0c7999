//! Edits every key of the system description and the measurements file and every compared key of
//! the evidence separately, drafts the other documents again, and leaves everything else as it was.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::stated::{is_compared, keys, unclassified};
use super::{
    Outcome, report,
    tree::{EditableTree, HOME, SYSTEM},
};

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

/// Raises each value in one copy of a valid tree, and lowers it in another. Fails if the check
/// reports neither change of a value.
fn unseen(valid: fn() -> EditableTree) {
    let tree = valid();
    let before = findings(&tree);
    let edits = edits(&tree);
    let is_unseen = |(path, pointer): &&(Option<String>, String)| {
        ![true, false].into_iter().any(|up| {
            let tree = valid();
            edit(&tree, path.as_deref(), pointer, up);
            findings(&tree).difference(&before).next().is_some()
        })
    };
    let unseen: Vec<_> = edits.iter().filter(is_unseen).collect();
    let (count, all) = (unseen.len(), edits.len());
    assert!(unseen.is_empty(), "{count} of {all} edits are not found: {unseen:#?}");
}

/// Lists the pointers to the values to edit, each with the path of its file; without a path, the
/// pointers into the evidence of each node in the records.
fn edits(tree: &EditableTree) -> Vec<(Option<String>, String)> {
    let of = |path: &str| keys(&serde_json::from_str(&tree.read(path)).unwrap());
    let machine = of(&format!("{HOME}/documentation/evidence/node-a.json"));
    let compared = machine.into_iter().filter(|(key, _)| is_compared(key));
    let mut edits: Vec<_> = compared.map(|(_, pointer)| (None, pointer)).collect();
    for path in [SYSTEM.to_owned(), tree.measurements_file()] {
        edits.extend(of(&path).into_values().map(|pointer| (Some(path.clone()), pointer)));
    }
    edits
}

/// Lists the texts of all findings that are not passes.
fn findings(tree: &EditableTree) -> BTreeSet<String> {
    let report = report(tree);
    let bad = report.findings().filter(|finding| finding.outcome != Outcome::Pass);
    bad.map(|finding| format!("{} {:?} {}", finding.rule, finding.outcome, finding.text)).collect()
}

fn edit(tree: &EditableTree, path: Option<&str>, pointer: &str, up: bool) {
    let change = |file: &mut Value| {
        let value = file.pointer_mut(pointer).unwrap();
        *value = other(value, up);
    };
    match path {
        Some(path) => tree.json(path, change),
        None => tree.every_node(change),
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
        Value::Array(_) => json!(["something"]),
        Value::Object(_) => json!({"1": 7}),
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
