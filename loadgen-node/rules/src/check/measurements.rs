//! The measurements file: of N2 and N35 what it says, and that its figures are those of the runs.

use std::collections::BTreeSet;

use netdiv_contract::v1::Machine;
use serde_json::{Map, Value};

use super::{
    checked_folder::{Entry, Kind, Subject},
    findings::{At, Findings},
    judged::JudgedDivision,
    system_json::{is_empty, unwritten},
};
use crate::{
    Outcome,
    Rule::N2,
    facts::{json::TWICE, measurements::recorded},
    judge::data_types::leaves_out_types,
    placeholder::is_placeholder,
};

/// What the official checker asks it for.
const ASKED: [&str; 5] = [
    "input_data_types",
    "retraining",
    "starting_weights_filename",
    "weight_data_types",
    "weight_transformations",
];

pub(super) fn judge(division: JudgedDivision, entry: &Entry, at: &mut At) {
    let (path, json) = match &entry.measurements {
        None => return,
        // The official checker takes the last of two values.
        Some(Err((path, why))) if why.contains(TWICE) && division != JudgedDivision::Network => {
            return at.unknown_there(path, format!("{why}: state it once"));
        }
        Some(Err((path, why))) => return at.fail_there(path, why),
        Some(Ok((path, json))) => (path, json),
    };
    for field in ASKED {
        match json.get(field) {
            Some(Value::String(text)) if !text.is_empty() && is_placeholder(text) => {
                unwritten_there(division, path, format!("{field} is \"{text}\""), at);
            }
            Some(value) if !is_empty(value) => {}
            _ => at.fail_there(path, format!("{field} is missing or empty")),
        }
    }
    at.fail_each_there(path, other_types(entry, json));
    if let Some(record) = entry.run(Kind::Performance).and_then(|run| run.result()) {
        for (field, value) in recorded(record) {
            if json.get(field).is_some_and(|said| *said != value) {
                let text = format!("{field} is not what the record of the performance run says");
                at.fail_there(path, text);
            }
        }
    }
}

/// Adds the finding of [`unwritten`] at another place.
pub(super) fn unwritten_there(division: JudgedDivision, place: &str, what: String, at: &mut At) {
    match unwritten(division, what) {
        (Outcome::Fail, text) => at.fail_there(place, text),
        (_, text) => at.unknown_there(place, text),
    }
}

/// Data types that the runs used, and the file leaves out.
fn other_types(entry: &Entry, json: &Map<String, Value>) -> BTreeSet<String> {
    let mut wrong = BTreeSet::new();
    let mut compare = |field: &str, what: &str, used: &str| {
        let stated = json.get(field).and_then(Value::as_str);
        if stated.is_some_and(|stated| leaves_out_types(stated, used)) {
            wrong.insert(format!(
                "{field} is `{}`, and {what} {used}: write that",
                stated.unwrap_or_default()
            ));
        }
    };
    for (_, record) in entry.records() {
        compare("input_data_types", "the samples of its runs were", &record.input.join(" + "));
        let machines = record.evidence.iter().flat_map(|evidence| evidence.nodes.values());
        for precision in machines.filter_map(precision) {
            compare("weight_data_types", "the weights at its nodes were", &precision);
        }
    }
    wrong
}

/// The type of the weights, by a node's published settings.
fn precision(machine: &Machine) -> Option<String> {
    let settings: toml::Table = machine.settings.as_ref()?.parse().ok()?;
    let model = settings.get("engine")?.get("model")?;
    Some(model.get("precision")?.as_str()?.to_owned())
}

/// Only the Open division takes a retrained model.
pub(super) fn retraining(subject: &Subject, entry: &Entry, found: &mut Findings) {
    let Some(Ok((path, json))) = &entry.measurements else { return };
    let stated = json.get("retraining").and_then(Value::as_str).unwrap_or_default();
    // N35 says what is missing.
    if subject.is_open() || is_placeholder(stated) {
        return;
    }
    let text = format!("retraining is `{stated}`");
    match says_yes(stated) {
        Some(true) => {
            found.fail(N2, path, format!("{text}: only the Open division takes a retrained model"));
        }
        Some(false) => {}
        None => found.unknown(
            N2,
            path,
            format!("{text}, and only the Open division takes a retrained model: write yes or no"),
        ),
    }
}

/// The answer to a question, as people write it; `None` where it is neither yes nor no.
fn says_yes(text: &str) -> Option<bool> {
    let text = text.trim().trim_end_matches('.').to_lowercase().replace('\u{2019}', "'");
    let words = || text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let is_no =
        |word: &str| ["no", "none", "not", "n", "false"].contains(&word) || word.ends_with("n't");
    match text.as_str() {
        "yes" | "y" | "true" => Some(true),
        _ if words().any(is_no) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_and_no_are_read_as_people_write_them() {
        for text in [
            "no",
            "No ",
            "none",
            "N",
            "False",
            "We don\u{2019}t retrain the model weight.",
            "not retrained",
        ] {
            assert_eq!(says_yes(text), Some(false), "{text}");
        }
        for text in ["yes", "Yes.", "TRUE"] {
            assert_eq!(says_yes(text), Some(true), "{text}");
        }
        for text in ["", "fine-tuned on our data", "see README"] {
            assert_eq!(says_yes(text), None, "{text}");
        }
    }
}
