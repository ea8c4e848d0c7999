//! Checks of LoadGen's accuracy log.

use std::collections::{HashMap, HashSet};

use e2e::Outcome;
use netdiv_contract::layout::InputLayout;
use netdiv_dataset as dataset;
use serde_json::Value;

/// Asserts that each response is an echo node's response to its sample, occurs once, and is
/// counted.
pub fn check_bytes(outcome: &Outcome, dataset: &str) {
    let responses = outcome.responses();
    let data = dataset::open(dataset).expect("a data set");
    let mut seen = HashSet::new();
    for response in &responses {
        let sample = data.read(response.qsl_idx).expect("a sample");
        let sample = sample.into_payload(&InputLayout::default());
        assert_eq!(response.data, sample[..8], "{response:?}");
        assert!(seen.insert(response.qsl_idx), "twice: {response:?}");
    }
    check_count(outcome, responses.len());
}

/// Asserts that each sample has one output, which begins with the first token that LoadGen
/// received. If there is an `other` run, which has the same samples, asserts that its outputs are
/// equal.
pub fn check_tokens(outcome: &Outcome, other: Option<&Outcome>) {
    let other = other.map(outputs);
    let entries = outcome.accuracy_log();
    for entry in &entries {
        let (data, first) = (text(entry, "data"), text(entry, "token_data"));
        // The first token is one int32, in hexadecimal digits.
        assert!(first.len() == 8 && data.starts_with(first), "{entry}");
        if let Some(other) = &other {
            assert_eq!(other.get(&entry["qsl_idx"].as_u64()).map(String::as_str), Some(data));
        }
    }
    assert_eq!(outputs(outcome).len(), entries.len(), "a sample has two outputs");
    check_count(outcome, entries.len());
}

/// Asserts that every completed sample is logged. LoadGen drops responses that arrive after the end
/// of its test.
fn check_count(outcome: &Outcome, logged: usize) {
    let (result, logged) = (outcome.result(), logged as u64);
    let completed = result["samples"]["completed"].as_u64().expect("a number");
    match result["verdict"].as_str() {
        Some("FAILED") => assert!(logged <= completed, "{logged}, {completed}"),
        _ => assert_eq!(logged, completed, "logged and counted"),
    }
}

/// Returns outputs by the sample's index in the data set.
fn outputs(outcome: &Outcome) -> HashMap<Option<u64>, String> {
    let output = |entry: &Value| (entry["qsl_idx"].as_u64(), text(entry, "data").to_owned());
    outcome.accuracy_log().iter().map(output).collect()
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry[key].as_str().unwrap_or_default()
}
