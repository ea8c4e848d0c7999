//! The measurements file: of N2 and N35 what it says, and that its figures are those of the runs.

use serde_json::{Map, Value, json};

use super::{
    checked_folder::{Entry, Kind, Subject},
    files::N35,
    findings::Findings,
};
use crate::{
    Rule,
    placeholder::is_placeholder,
    result::{Division, RunResult},
    tree::Place,
};

const N2: Rule = Rule::new(2);

/// What the official checker asks it for.
const ASKED: [&str; 5] = [
    "input_data_types",
    "retraining",
    "starting_weights_filename",
    "weight_data_types",
    "weight_transformations",
];

pub(super) fn judge(subject: &Subject, entry: &Entry, place: &Place, found: &mut Findings) {
    let (path, json) = match &entry.measurements {
        None => return,
        Some(Err(why)) => return found.fail(N35, place.measurements(), why),
        Some(Ok((path, json))) => (path, json),
    };
    for field in ASKED {
        let text = json.get(field).and_then(Value::as_str);
        if text.is_none_or(is_placeholder) {
            found.fail(N35, path, format!("{field} is missing, empty or still to be written"));
        }
    }
    let retraining = json.get("retraining").and_then(Value::as_str).unwrap_or_default();
    if subject.division == Division::Network && !retraining.eq_ignore_ascii_case("no") {
        let text =
            format!("retraining is `{retraining}`: only the Open division takes a retrained model");
        found.fail(N2, path, text);
    }
    if let Some(record) = entry.run(&Kind::Performance).and_then(|run| run.result()) {
        for (field, value) in generated(record) {
            if json.get(field).is_some_and(|said| *said != value) {
                let text = format!("{field} is not what the record of the performance run says");
                found.fail(N35, path, text);
            }
        }
    }
}

/// The fields that the record of the performance run fills.
pub(super) fn generated(record: &RunResult) -> [(&'static str, Value); 8] {
    let node = |node: &crate::result::Node| -> Value {
        let fields = [
            ("name", &node.name),
            ("engine", &node.engine),
            ("model", &node.model),
            ("model_sha256", &node.model_sha256),
            ("config_sha256", &node.config_sha256),
            ("software_version", &node.software_version),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), Value::from(value.as_str())));
        Map::from_iter(fields).into()
    };
    [
        ("nodes", record.nodes.iter().map(node).collect()),
        ("input", json!(record.input)),
        ("encoding", json!(record.encoding)),
        ("transport", json!(record.transport)),
        ("tls", json!(record.tls)),
        ("connections_per_node", json!(record.connections_per_node)),
        ("streams_per_connection", json!(record.streams_per_connection)),
        ("versions", json!(record.versions)),
    ]
}
