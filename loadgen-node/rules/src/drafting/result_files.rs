//! Files about a result: its measurements file and its `README.md`.

use serde_json::{Map, Value, json};

use super::{
    gap::Problems,
    markdown::{block, known, table},
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

/// Makes `README.md`: the submitter's text, the result, and the steps to reproduce it.
pub(super) fn readme(result: &RecordedResult<'_>) -> String {
    let generated = generated_text(result);
    match result.settings.readme.as_deref().unwrap_or_default().trim() {
        "" => generated,
        written => format!("{written}\n\n{generated}"),
    }
}

/// Generates the result and the steps to reproduce it, from the records.
fn generated_text(recorded: &RecordedResult<'_>) -> String {
    let (result, accuracy) = (recorded.performance, recorded.accuracy);
    let mut text = format!("# {}\n\n", recorded.name);
    for metric in result.metric.iter().chain(&result.token_metric) {
        text += &format!("{}: {} {}. ", metric.name, metric.value, metric.unit);
    }
    for (what, kind) in [("first token", "first_token"), ("each further token", "further_token")] {
        if let Some(ns) = result.loadgen_latency_ns.get(&format!("{kind}_99.00")) {
            text += &format!("{what}, 99 %: {} ms. ", ns / 1e6);
        }
    }
    if let Some(found) = &accuracy.accuracy {
        text += &format!("{}: {} {}. ", found.metric.name, found.reported, found.metric.unit);
    }
    text += &format!(
        "SUT: {}. LoadGen: {}, {}.\n\n",
        known(&result.sut_name),
        result.versions.loadgen,
        result.versions.loadgen_origin
    );
    text += "The sources of both programs are in the folder `netdiv` of the submission's code, with their SHA-256 in \
             `REVISION`. The `*.result.json` files beside this one have all that the runs recorded.\n\n## The nodes\n\n\
             On each machine, `sut-node --config FILE` with the settings below; `README.md` in that folder says how to build it.\n";
    let evidence = result.evidence.as_ref();
    for node in &result.nodes {
        let machine = evidence.and_then(|evidence| evidence.nodes.get(&node.name));
        text += &format!("\n### {} ({})\n\n", node.name, node.address);
        let sha256 = Some(&node.model_sha256).filter(|sha256| !sha256.is_empty());
        let facts = [
            ("engine", node.engine.clone()),
            ("model", format!("{}, SHA-256 {}", node.model, known(&sha256))),
            ("settings' SHA-256", node.config_sha256.clone()),
            ("program", known(&machine.and_then(|machine| machine.program.clone()))),
            ("framework", known(&machine.and_then(|machine| machine.framework.clone()))),
            (
                "container image",
                known(&machine.and_then(|machine| machine.container_image.clone())),
            ),
        ];
        text += &table(["", ""], facts.map(|(name, value)| [name.to_owned(), value]));
        if let Some(settings) = machine.and_then(|machine| machine.settings.as_ref()) {
            text += "\n";
            text += &block("", settings);
        }
    }
    text += "\n## The runs\n\nOn the LoadGen node, with the `user.conf` beside this file:\n\n";
    let others = recorded.others.iter().map(|(test, run)| {
        let what = test.map(|test| format!("{test}, with its audit.config"));
        (what.unwrap_or_else(|| "digests of all samples".into()), *run)
    });
    let both = [("performance".to_owned(), result), ("accuracy".into(), accuracy)];
    for (what, run) in both.into_iter().chain(others) {
        text += &format!("{what}:\n\n{}\n", block("sh", &command(run)));
    }
    text
}

/// Returns the command that repeats a run with its settings.
fn command(run: &RunResult) -> String {
    let mut parts = vec!["loadgen-node run".to_owned()];
    for (key, value) in &run.settings {
        let key = format!("--{}", key.replace('_', "-"));
        match value {
            Value::Null | Value::Bool(false) => {}
            Value::Bool(true) => parts.push(key),
            // Each of LoadGen's settings has its own option; lists of nodes and cores have commas.
            Value::Array(values) if key == "--setting" => {
                parts.extend(values.iter().map(|value| format!("{key} {}", quoted(value))));
            }
            Value::Array(values) => {
                let values: Vec<_> = values.iter().map(plain).collect();
                parts.push(format!("{key} {}", quoted(&values.join(",").into())));
            }
            value => parts.push(format!("{key} {}", quoted(value))),
        }
    }
    parts.join(" \\\n    ")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn quoted(value: &Value) -> String {
    let text = plain(value);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (value, want) in [
            (json!("a-b.c:1,d"), "a-b.c:1,d"),
            (json!(4), "4"),
            (json!("it's here"), "'it'\\''s here'"),
            (json!(""), "''"),
        ] {
            assert_eq!(quoted(&value), want);
        }
    }
}
