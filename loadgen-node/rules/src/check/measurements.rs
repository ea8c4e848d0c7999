//! The measurements file: of N2 and N35 what it says, and that its figures are those of the runs.

use std::collections::BTreeSet;

use netdiv_contract::v1::Machine;
use serde_json::{Map, Value};

use super::{
    checked_folder::{Entry, Kind, Subject},
    findings::{At, Findings},
};
use crate::{
    Rule::N2, facts::measurements::recorded, judge::data_types::leaves_out_types,
    placeholder::is_placeholder, result::Division,
};

/// What the official checker asks it for.
const ASKED: [&str; 5] = [
    "input_data_types",
    "retraining",
    "starting_weights_filename",
    "weight_data_types",
    "weight_transformations",
];

pub(super) fn judge(entry: &Entry, at: &mut At) {
    let (path, json) = match &entry.measurements {
        None => return,
        Some(Err((path, why))) => return at.fail_there(path, why),
        Some(Ok((path, json))) => (path, json),
    };
    for field in ASKED {
        let text = json.get(field).and_then(Value::as_str);
        if text.is_none_or(is_placeholder) {
            at.fail_there(path, format!("{field} is missing, empty or still to be written"));
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
    let retraining = json.get("retraining").and_then(Value::as_str).unwrap_or_default();
    if subject.division == Division::Network && !retraining.eq_ignore_ascii_case("no") {
        let text =
            format!("retraining is `{retraining}`: only the Open division takes a retrained model");
        found.fail(N2, path, text);
    }
}
