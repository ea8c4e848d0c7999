//! Judges the measurements file, whose data types must be those of the runs.

use std::collections::BTreeSet;

use netdiv_contract::v1::Machine;
use serde_json::{Map, Value};

use crate::{
    Division,
    facts::machines::published_settings,
    input::json::REPEATED_KEY,
    placeholder::is_placeholder,
    rules::n36::{is_empty, unwritten},
    subject::{PlaceJudgement, ResultEntry},
};

/// Fields that the official checker requires.
const ASKED: [&str; 5] = [
    "input_data_types",
    "retraining",
    "starting_weights_filename",
    "weight_data_types",
    "weight_transformations",
];

pub(super) fn judge(division: Division, entry: &ResultEntry, at: &mut PlaceJudgement) {
    let (path, json) = match &entry.measurements {
        None => return,
        // The official checker uses the last of two values.
        Some(Err((path, why))) if why.contains(REPEATED_KEY) && division != Division::Network => {
            return at.unknown_at(path, format!("{why}: state it once"));
        }
        Some(Err((path, why))) => return at.fail_at(path, why),
        Some(Ok((path, json))) => (path, json),
    };
    for field in ASKED {
        match json.get(field) {
            Some(Value::String(text)) if !text.is_empty() && is_placeholder(text) => {
                let (outcome, text) = unwritten(division, format!("{field} is \"{text}\""));
                at.find_at(outcome, path, text);
            }
            Some(value) if !is_empty(value) => {}
            _ => at.fail_at(path, format!("{field} is missing or empty")),
        }
    }
    for text in other_types(entry, json) {
        at.fail_at(path, text);
    }
}

/// Returns findings about data types that the runs used and the file omits.
fn other_types(entry: &ResultEntry, json: &Map<String, Value>) -> BTreeSet<String> {
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

/// Returns the data type of the weights, by a node's published settings.
fn precision(machine: &Machine) -> Option<String> {
    let settings = published_settings(machine);
    let model = settings.get("engine")?.get("model")?;
    Some(model.get("precision")?.as_str()?.to_owned())
}

/// Returns the data types that a text names. Synonyms, such as `fp16` and `half`, become one name.
fn types(text: &str) -> BTreeSet<String> {
    let one = |word: &str| match word.to_lowercase().as_str() {
        "fp16" | "half" => Some("float16".to_owned()),
        "fp32" | "float" | "tf32" => Some("float32".into()),
        "fp64" | "double" => Some("float64".into()),
        "bf16" => Some("bfloat16".into()),
        "uint8" | "uint16" | "uint32" | "uint64" | "int4" | "int8" | "int16" | "int32"
        | "int64" | "fp4" | "fp8" | "float16" | "float32" | "float64" | "bfloat16" | "bool" => {
            Some(word.to_lowercase())
        }
        _ => None,
    };
    text.split(|c: char| !c.is_alphanumeric()).filter_map(one).collect()
}

/// Returns true if a text about data types omits one that was used; false if no data type was used,
/// such as for bytes.
fn leaves_out_types(stated: &str, used: &str) -> bool {
    !types(used).is_subset(&types(stated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_compared_by_any_of_their_names() {
        assert!(!leaves_out_types("fp32", "float32[3, 224, 224]"));
        assert!(!leaves_out_types("int64", "input_ids int64 [384] mask int64 [384]"));
        assert!(!leaves_out_types("fp32", "bytes") && !leaves_out_types("JPEG", "bytes"));
        assert!(leaves_out_types("fp32", "image uint8 [3, 224, 224]"));
        assert!(leaves_out_types("JPEG", "uint8[3, 224, 224]"));
    }
}
