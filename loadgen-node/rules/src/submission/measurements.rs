//! The measurements file and the README of a result.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    markdown::{block, known, table},
    problems::Problems,
    results::Loaded,
    runs::Run,
    stated,
    submission_toml::{ResultSettings, Retrained, Retraining},
};
use crate::facts::measurements::recorded;

/// The measurements file: the five fields that the official checkers want, and what else tells this result from others.
pub(super) fn measurements(
    loaded: &Loaded<'_>,
    retraining: Option<&Retraining>,
    problems: &mut Problems,
) -> Map<String, Value> {
    let settings = loaded.settings;
    let name = &loaded.name;
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
    let stated = inputs.as_deref().unwrap_or_default();
    let runs = loaded.runs().map(|run| &run.result.input);
    for input in runs.collect::<BTreeSet<_>>() {
        stated::input_types(name, stated, input, problems);
    }
    fields.insert("retraining".into(), json!(settings.retraining));
    if settings.retraining == Retrained::Yes
        && let Some(tag) = retraining
    {
        fields.insert("retraining_tag".into(), retraining_tag(tag));
    }
    let recorded = recorded(&loaded.performance.result).into_iter();
    fields.extend(recorded.map(|(key, value)| (key.to_owned(), value)));
    fields
}

/// The tag of a retrained result.
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

/// `README.md`: the result, and how to get it again.
pub(super) fn readme(loaded: &Loaded<'_>, written: &str) -> String {
    let Loaded { name, performance, accuracy, digests, audits, .. } = loaded;
    let mut text = match written.trim() {
        "" => String::new(),
        written => format!("{written}\n\n"),
    };
    text += &format!("# {name}\n\n");
    let result = &performance.result;
    if let Some(metric) = &result.metric {
        text += &format!("{}: {} {}. ", metric.name, metric.value, metric.unit);
    }
    if let Some(found) = &accuracy.result.accuracy {
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
        let facts = [
            ("engine", node.engine.clone()),
            ("model", format!("{}, SHA-256 {}", node.model, known(&not_empty(&node.model_sha256)))),
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
    let mut commands = vec![("performance".to_owned(), performance), ("accuracy".into(), accuracy)];
    commands.extend(digests.iter().map(|run| ("digests of all samples".to_owned(), run)));
    commands.extend(
        audits
            .iter()
            .map(|audit| (format!("{}, with its audit.config", audit.test.name()), &audit.run)),
    );
    for (what, run) in commands {
        text += &format!("{what}:\n\n{}\n", block("sh", &command(run)));
    }
    text
}

fn not_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The command line that has the settings of a run.
fn command(run: &Run) -> String {
    let mut parts = vec!["loadgen-node run".to_owned()];
    for (key, value) in &run.result.settings {
        let key = format!("--{}", key.replace('_', "-"));
        match value {
            Value::Null | Value::Bool(false) => {}
            Value::Bool(true) => parts.push(key),
            // LoadGen's settings are given one by one, lists of nodes and cores with commas.
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

/// A word of a shell.
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
