//! What runs at a node: what it said when it was asked, and what its evidence has.

use std::collections::BTreeMap;

use netdiv_contract::v1::Machine;
use toml::Table;

use super::machines::said;
use crate::{
    judge::engines::without_model,
    result::{Node, RunResult},
};

pub(crate) const MODEL: &str = "model";
pub(crate) const ENGINE: &str = "engine";
pub(crate) const FRAMEWORK: &str = "framework";
pub(crate) const PROGRAM: &str = "program";
pub(crate) const SETTINGS: &str = "settings";
pub(crate) const IMAGE: &str = "container image";
pub(crate) const KERNEL: &str = "kernel";
/// Before the name of one of the settings that decide the answers.
pub(crate) const SETTING: &str = "setting ";

/// Settings of an engine that are about its machine, and no matter of what it answers.
const OF_THE_MACHINE: [&str; 5] =
    ["batch_sizes", "devices", "encodings", "threads", "workload_threads"];

/// What runs at a node, by what it is. What is not known is left out.
pub(crate) type Running = BTreeMap<String, String>;

/// What a node said before the run, and its machine.
pub(crate) struct Said<'a> {
    pub(crate) engine: &'a str,
    pub(crate) model: &'a str,
    pub(crate) model_sha256: &'a str,
    pub(crate) software_version: &'a str,
    pub(crate) machine: Option<&'a Machine>,
}

impl Said<'_> {
    pub(crate) fn running(&self) -> Running {
        let unknown = Machine::default();
        let machine = self.machine.unwrap_or(&unknown);
        let version = self.software_version;
        let program = match said(&machine.program) {
            Some(program) if program.ends_with(version) => program.to_owned(),
            program => format!("{} {version}", program.unwrap_or_default()),
        };
        let text = |text: &Option<String>| said(text).unwrap_or_default().to_owned();
        // An engine without a model is found as that.
        let (model, engine) = match without_model(self.engine, self.model_sha256) {
            None => (format!("{} {}", self.model, self.model_sha256), self.engine.to_owned()),
            Some(_) => Default::default(),
        };
        let facts = [
            (MODEL, model),
            (ENGINE, engine),
            // What follows, such as the driver that it was built for, is a matter of the machine.
            (
                FRAMEWORK,
                text(&machine.framework).split(['(', ',']).next().unwrap_or_default().into(),
            ),
            (PROGRAM, program),
            (IMAGE, text(&machine.container_image)),
            (KERNEL, text(&machine.kernel)),
        ];
        let facts = facts.map(|(what, value)| (what.to_owned(), value.trim().to_owned()));
        let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
        known.chain(answering(machine)).collect()
    }
}

/// The published settings that decide what the engine answers: the tables `engine` and `engine.model`.
fn answering(machine: &Machine) -> Vec<(String, String)> {
    let settings: Option<Table> = machine.settings.as_deref().and_then(|text| text.parse().ok());
    let Some(mut engine) = settings.and_then(|settings| table(&settings, ENGINE)) else {
        return Vec::new();
    };
    let model = table(&engine, MODEL).unwrap_or_default();
    engine.remove(MODEL);
    let named = |prefix: &'static str| {
        move |(key, value): (String, toml::Value)| {
            (!OF_THE_MACHINE.contains(&key.as_str()))
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
    /// What ran at each node, by its name.
    pub(crate) fn running(&self) -> BTreeMap<&str, Running> {
        let of = |node: &Node| {
            let machines = self.evidence.as_ref().map(|evidence| &evidence.nodes);
            let said = Said {
                engine: &node.engine,
                model: &node.model,
                model_sha256: &node.model_sha256,
                software_version: &node.software_version,
                machine: machines.and_then(|machines| machines.get(&node.name)),
            };
            let mut running = said.running();
            running.insert(SETTINGS.into(), node.config_sha256.clone());
            running
        };
        self.nodes.iter().map(|node| (node.name.as_str(), of(node))).collect()
    }
}

/// A value for people: of a digest its start.
pub(crate) fn brief(value: &str) -> String {
    let is_digest = |word: &str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words = value.split_whitespace().map(|word| match word.get(..12) {
        Some(start) if is_digest(word) => format!("{start}…"),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}
