//! The measurements file of a result.

use serde_json::{Map, Value, json};

use super::{
    gap::Problems,
    results::RecordedResult,
    submission_toml::{ResultSettings, Retrained, Retraining},
};
use crate::{book::RoundName, record::RunResult};

/// Makes the measurements file: the five fields that the official checkers require, and further
/// fields that distinguish this result from others.
pub(super) fn measurements(
    result: &RecordedResult<'_>,
    round: Option<RoundName>,
    retraining: Option<&Retraining>,
    problems: &mut Problems,
) -> Map<String, Value> {
    let (settings, name) = (result.settings, &result.name);
    let mut fields = Map::new();
    let ResultSettings {
        starting_weights_filename: weights,
        weight_data_types: types,
        weight_transformations: transformations,
        input_data_types: inputs,
        ..
    } = settings;
    let texts = [
        ("input_data_types", inputs, "uint8"),
        (
            "starting_weights_filename",
            weights,
            "https://zenodo.org/record/4588417/files/resnet50-19c8e357.pth",
        ),
        ("weight_data_types", types, "fp16"),
        ("weight_transformations", transformations, "fp16 conversion; or none"),
    ];
    for (key, value, example) in texts {
        let what = format!("[[result]] {name}: write {key}, such as \"{example}\"");
        fields.insert(key.into(), problems.need(value, &what).into());
    }
    fields.insert("retraining".into(), json!(settings.retraining));
    fields.extend(round.map(|round| ("round".to_owned(), json!(round))));
    if settings.retraining == Retrained::Yes
        && let Some(tag) = retraining
    {
        fields.insert("retraining_tag".into(), retraining_tag(tag));
    }
    let recorded = recorded(result.performance).into_iter();
    fields.extend(recorded.map(|(key, value)| (key.to_owned(), value)));
    fields
}

/// Returns the fields that the record of the performance run determines.
fn recorded(record: &RunResult) -> [(&'static str, Value); 8] {
    let nodes = record.nodes.iter().map(|node| {
        json!({
            "name": node.name,
            "engine": node.engine,
            "model": node.model,
            "model_sha256": node.model_sha256,
            "config_sha256": node.config_sha256,
            "software_version": node.software_version,
        })
    });
    [
        ("nodes", nodes.collect()),
        ("input", json!(record.input)),
        ("encoding", json!(record.encoding)),
        ("transport", json!(record.transport)),
        ("tls", json!(record.tls)),
        ("connections_per_node", json!(record.connections_per_node)),
        ("streams_per_connection", json!(record.streams_per_connection)),
        ("versions", json!(record.versions)),
    ]
}

/// Returns the fields about a retrained result that the retraining rules require.
pub(super) fn retraining_tag(tag: &Retraining) -> Value {
    let cost = tag.retraining_data_fraction.zip(tag.retraining_epoch_fraction).map(|(a, b)| a * b);
    json!({
        "retraining_data_fraction": tag.retraining_data_fraction,
        "retraining_epoch_fraction": tag.retraining_epoch_fraction,
        "retraining_cost_metric": cost,
        "non_zero_parameters": tag.non_zero_parameters,
        "model_size_bytes": tag.model_size_bytes,
        "numerics": tag.numerics,
        "quantization": tag.quantization,
    })
}
