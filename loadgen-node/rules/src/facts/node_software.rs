//! Software of a node, from its record and its evidence.

use std::collections::BTreeMap;

use netdiv_contract::v1::Machine;
use toml::Table;

use super::machines::{non_empty, published_settings};
use crate::record::{Node, RunResult};

pub(crate) const MODEL: &str = "model";
pub(crate) const ENGINE: &str = "engine";
pub(crate) const FRAMEWORK: &str = "framework";
pub(crate) const PROGRAM: &str = "program";
pub(crate) const VERSION: &str = "program's version";
pub(crate) const SETTINGS: &str = "settings";
pub(crate) const IMAGE: &str = "container image";
pub(crate) const KERNEL: &str = "kernel";
/// Prefix of the names of settings that decide the responses.
pub(crate) const SETTING: &str = "setting ";

/// Settings of an engine that concern its machine and do not affect responses.
const MACHINE_SETTINGS: [&str; 8] = [
    "batch_sizes",
    "cache_mib",
    "chunk",
    "devices",
    "encodings",
    "slots",
    "threads",
    "workload_threads",
];

/// Returns the reason why a node with this engine and this SHA-256 of a model file runs no model
/// or an unknown one; `None` if it runs a known one.
pub(crate) fn missing_model_reason(engine: &str, model_sha256: &str) -> Option<String> {
    match engine.trim().to_lowercase().as_str() {
        "echo" | "none" | "tokens" | "" => Some(format!("its engine, `{engine}`, runs no model")),
        _ if model_sha256.trim().is_empty() => Some("its model's file states no `sha256`".into()),
        _ => None,
    }
}

/// Software of a node: value by kind, such as [`ENGINE`]. Unknown values are missing.
pub(crate) type NodeSoftware = BTreeMap<String, String>;

/// Returns the software of a node, from its record and the evidence about its machine.
fn software(node: &Node, machine: Option<&Machine>) -> NodeSoftware {
    let unknown = Machine::default();
    let machine = machine.unwrap_or(&unknown);
    let version = node.software_version.as_str();
    // The program is `sut-node 0.1.0` if the version is 0.1.0.
    let program = non_empty(&machine.program).unwrap_or_default();
    let program = program.strip_suffix(version).unwrap_or(program);
    let text = |text: &Option<String>| non_empty(text).unwrap_or_default().to_owned();
    // A separate finding reports an engine without a model.
    let (model, engine) = match missing_model_reason(&node.engine, &node.model_sha256) {
        None => (format!("{} {}", node.model, node.model_sha256), node.engine.clone()),
        Some(_) => Default::default(),
    };
    let facts = [
        (MODEL, model),
        (ENGINE, engine),
        // The text after a parenthesis or comma, such as the driver that the framework was
        // built for, concerns the machine.
        (FRAMEWORK, text(&machine.framework).split(['(', ',']).next().unwrap_or_default().into()),
        (PROGRAM, program.into()),
        (VERSION, version.into()),
        (SETTINGS, node.config_sha256.clone()),
        (IMAGE, text(&machine.container_image)),
        (KERNEL, text(&machine.kernel)),
    ];
    let facts = facts.map(|(what, value)| (what.to_owned(), value.trim().to_owned()));
    let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
    known.chain(response_settings(machine)).collect()
}

/// Returns the published settings that decide the engine's responses: the name and the value of
/// each setting in the tables `engine` and `engine.model`.
fn response_settings(machine: &Machine) -> Vec<(String, String)> {
    let Some(mut engine) = table(&published_settings(machine), ENGINE) else { return Vec::new() };
    let model = table(&engine, MODEL).unwrap_or_default();
    engine.remove(MODEL);
    let named = |prefix: &'static str| {
        move |(key, value): (String, toml::Value)| {
            (!MACHINE_SETTINGS.contains(&key.as_str()))
                .then(|| (format!("{SETTING}{prefix}.{key}"), value.to_string()))
        }
    };
    let engine = engine.into_iter().filter_map(named("engine"));
    engine.chain(model.into_iter().filter_map(named("engine.model"))).collect()
}

fn table(parent: &Table, key: &str) -> Option<Table> {
    parent.get(key)?.as_table().cloned()
}

impl RunResult {
    /// Returns the software of each node, by node name.
    pub(crate) fn running(&self) -> BTreeMap<&str, NodeSoftware> {
        let machine = |node: &Node| self.evidence.as_ref()?.nodes.get(&node.name);
        let nodes = self.nodes.iter();
        nodes.map(|node| (node.name.as_str(), software(node, machine(node)))).collect()
    }
}

/// Formats a value for messages: digests are shortened to their start.
pub(crate) fn brief(value: &str) -> String {
    let is_digest = |word: &str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words = value.split_whitespace().map(|word| match word.get(..12) {
        Some(start) if is_digest(word) => format!("{start}…"),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Mode, Scenario,
        fixture::{RunSpec, record_of},
    };

    fn running(machine: &Machine) -> NodeSoftware {
        let spec = RunSpec::new("resnet50", Scenario::Offline, Mode::Performance);
        software(&record_of(&spec).nodes[0], Some(machine))
    }

    #[test]
    fn what_is_not_known_differs_from_nothing() {
        let known = Machine {
            program: Some("sut-node 0.1.0".into()),
            framework: Some("libtorch 2.11.0, CUDA 13.0".into()),
            ..Machine::default()
        };
        let (known, unknown) = (running(&known), running(&Machine::default()));
        assert_eq!(
            (known[PROGRAM].as_str(), known[FRAMEWORK].as_str()),
            ("sut-node", "libtorch 2.11.0")
        );
        assert!(unknown.iter().all(|(what, value)| known[what] == *value), "{unknown:?}");
    }

    #[test]
    fn settings_of_the_machine_decide_no_answer() {
        let settings = |devices: &str, precision: &str| {
            let text = format!(
                "max_batch = 8\n[engine]\nkind = \"plug-in\"\ndevices = [\"{devices}\"]\n[engine.model]\nprecision = \"{precision}\"\n"
            );
            running(&Machine { settings: Some(text), ..Machine::default() })
        };
        assert_eq!(settings("cuda:0", "fp16"), settings("cuda:1", "fp16"));
        assert_ne!(settings("cuda:0", "fp16"), settings("cuda:0", "fp8"));
        assert_eq!(settings("cuda:0", "fp8")["setting engine.model.precision"], "\"fp8\"");
        let tokens = |model: &str| {
            let text = format!("[engine]\nkind = \"token-plug-in\"\n[engine.model]\n{model}");
            running(&Machine { settings: Some(text), ..Machine::default() })
        };
        let large = tokens("beams = 1\nslots = 32\nchunk = 512\ncache_mib = 64\n");
        assert_eq!(large, tokens("beams = 1\nslots = 8\nchunk = 64\ncache_mib = 0\n"));
        assert_ne!(large, tokens("beams = 4\nslots = 32\n"));
        let no_toml = Machine { settings: Some("engine = [".into()), ..Machine::default() };
        assert_eq!(running(&no_toml), running(&Machine::default()));
    }
}
