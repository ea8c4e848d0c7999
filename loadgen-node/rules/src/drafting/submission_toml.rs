//! `submission.toml`: what a submitter has to say, beside what the runs say themselves.
//!
//! All keys are optional here; what is missing is found when the tree is built, all of it at once.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use netdiv_node_common::words::{Todo, todos, with_suggestion};
use serde::{Deserialize, Deserializer, Serialize, de::IntoDeserializer as _};
use strum::Display;

use super::gap::Gap;
use crate::{
    Division, Scenario,
    book::RoundName,
    derived::markdown::{UNKNOWN, on_one_line},
    input::files,
};

/// The file. Paths in it are relative to its folder.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The submitter: the name of its folder.
    pub submitter: Option<String>,
    /// network, closed or open.
    pub division: Option<Division>,
    /// Whether others can have the system.
    pub status: Option<Status>,
    /// The round, such as v5.0.
    pub round: Option<RoundName>,
    /// How quantization was calibrated (rules, section 2.3): a Markdown file.
    pub calibration: Option<PathBuf>,
    /// Who approved the compression of samples, when, and how to find that (section 6.2.4).
    pub compression_approval: Option<String>,
    /// How power was measured.
    pub power: Option<Power>,
    /// Why the submission is in the Open division.
    pub reason: Option<String>,
    /// `id`, the system's folder, and any field of the system description.
    pub system: BTreeMap<String, toml::Value>,
    /// What is between the machines.
    pub topology: Topology,
    /// The way from the network to the accelerators (section 5.1).
    pub architecture: Architecture,
    /// Each benchmark and scenario that is submitted.
    #[serde(rename = "result")]
    pub results: Vec<ResultSettings>,
    /// What the retraining rules ask a result with a retrained model to report (their section 10).
    pub retraining: Option<Retraining>,
    /// The name of the file, and its placeholders.
    #[serde(skip)]
    pub(crate) file: String,
    #[serde(skip)]
    pub(super) todos: Vec<Todo>,
}

/// Whether others can have a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Status {
    /// All of it can be bought or used.
    Available,
    /// It will be available soon.
    Preview,
    /// Research, development or internal.
    Rdi,
}

/// Whether a model was retrained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Retrained {
    /// It was.
    Yes,
    /// It was not.
    #[default]
    No,
}

/// Switches and links between the machines (section 6.2.3).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Topology {
    /// What the diagram shows.
    pub text: Option<String>,
    /// Switches.
    #[serde(rename = "switch")]
    pub switches: Vec<Switch>,
    /// Links.
    #[serde(rename = "link")]
    pub links: Vec<Link>,
}

impl Topology {
    /// Returns true if the settings say nothing of it.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_none() && self.switches.is_empty() && self.links.is_empty()
    }
}

/// A switch.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Its name in this file.
    pub name: String,
    /// Vendor and model.
    #[serde(deserialize_with = "one_line")]
    pub model: String,
    /// Number of its ports.
    pub ports: u32,
    /// What a port can do, such as "400 Gb/s".
    #[serde(deserialize_with = "one_line")]
    pub speed: String,
}

/// A cable.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// One end: `MACHINE:INTERFACE` or `SWITCH:PORT`. The LoadGen node is `loadgen`, SUT nodes have their names.
    pub from: String,
    /// The other end.
    pub to: String,
    /// What it is made of, such as "copper DAC" or "fiber".
    #[serde(deserialize_with = "one_line")]
    pub media: String,
    /// What it carries, such as "100 Gb/s".
    #[serde(deserialize_with = "one_line")]
    pub rate: String,
    /// Its length, such as "2 m".
    #[serde(default, deserialize_with = "length")]
    pub length: Option<String>,
}

/// Reads a text without the ends of lines and the blanks that a table would lose.
fn one_line<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    Ok(on_one_line(&String::deserialize(text)?))
}

/// Reads a length; none where the text says nothing.
fn length<'de, D: Deserializer<'de>>(text: D) -> Result<Option<String>, D::Error> {
    Ok(Some(one_line(text)?).filter(|text| !text.is_empty() && text != UNKNOWN))
}

/// How power was measured. The measurements are with the results.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Power {
    /// The setup.
    pub text: Option<String>,
    /// The analyzers: a file.
    pub analyzer_table: Option<PathBuf>,
    /// Settings that bear on power: a file.
    pub power_settings: Option<PathBuf>,
    /// The power that the parts of the system are built for, from round v6.1 on: a file in YAML.
    pub nameplate: Option<PathBuf>,
}

/// The way from the network to the accelerators.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Architecture {
    /// The way from the NIC to the accelerator, with the bandwidth of each part.
    pub data_path: Option<String>,
    /// What shows that it carries this: a text, or a file such as the fabric.json of `loadgen-node fabric`.
    pub measurement: Option<String>,
}

/// A benchmark in a scenario: the folders of its runs, and what was done to the model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResultSettings {
    /// The benchmark.
    pub benchmark: Option<String>,
    /// offline or server; the official names will do as well.
    #[serde(deserialize_with = "scenario")]
    pub scenario: Option<Scenario>,
    /// Folder of the performance run.
    pub performance: Option<PathBuf>,
    /// Folder of the accuracy run.
    pub accuracy: Option<PathBuf>,
    /// What the official accuracy script printed. Not needed where the run had labels to compare with.
    pub accuracy_txt: Option<PathBuf>,
    /// Folder that `loadgen-node audit` made, with TEST01 and so on in it.
    pub compliance: Option<PathBuf>,
    /// Folder of a run with `--digests`.
    pub digests: Option<PathBuf>,
    /// Folder that the measurement client of mlcommons/power-dev made; the performance run is `run_1` in it.
    pub power: Option<PathBuf>,
    /// The file with the weights that the model was made of.
    pub starting_weights_filename: Option<String>,
    /// Data types of the weights, such as "fp16".
    pub weight_data_types: Option<String>,
    /// What was done to the weights, such as "fp16 conversion"; "none" for nothing.
    pub weight_transformations: Option<String>,
    /// Data types of the inputs, such as "uint8".
    pub input_data_types: Option<String>,
    /// Whether the model was retrained.
    pub retraining: Retrained,
    /// How to do it again: a Markdown file, or text, put before what is generated.
    pub readme: Option<String>,
}

/// A retrained model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retraining {
    /// Share of the training data that was used.
    pub retraining_data_fraction: Option<f64>,
    /// Share of the epochs of the original training.
    pub retraining_epoch_fraction: Option<f64>,
    /// Parameters that are not zero.
    pub non_zero_parameters: Option<u64>,
    /// Size of the model in bytes.
    pub model_size_bytes: Option<u64>,
    /// Its number formats.
    pub numerics: Option<String>,
    /// How it was quantized, so that others can do the same.
    pub quantization: Option<String>,
}

/// A scenario, by our word for it or by the official one.
fn scenario<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Scenario>, D::Error> {
    let word = String::deserialize(from)?;
    let known = || Scenario::deserialize(word.as_str().into_deserializer());
    Scenario::of_official_name(&word).map_or_else(known, Ok).map(Some)
}

impl Settings {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// When it cannot be read or is no `submission.toml`, with the line.
    pub fn read(path: &Path) -> Result<Self, Gap> {
        let file = path.display().to_string();
        let refused = |text| Gap { file: Some(file.clone()), text };
        let text = files::read_text(path).map_err(|error| refused(error.to_string()))?;
        let settings: Self =
            toml::from_str(&text).map_err(|error| refused(with_suggestion(&error.to_string())))?;
        Ok(Self { todos: todos(&text), file, ..settings })
    }
}
