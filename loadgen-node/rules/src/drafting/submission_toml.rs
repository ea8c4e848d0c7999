//! `submission.toml`: the submitter's statements, in addition to the records of the runs.
//!
//! All keys are optional here. The construction of the tree reports all missing keys at once. The
//! tree contains the file, too, so that a check can draft the same documents from it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use netdiv_node_common::words::{Todo, todos, with_suggestion};
use serde::{Deserialize, Deserializer, Serialize, de::IntoDeserializer as _};
use strum::Display;

use super::{
    gap::Gap,
    markdown::{UNKNOWN, on_one_line},
};
use crate::{Division, Scenario, book::RoundName, input::files};

/// First line of the file in a tree. Increase its number with every change of a document that is
/// drafted from the file: a check cannot judge documents of another format.
pub(crate) const HEAD: &str = "# Made by loadgen-node submission, format 1.\n";

/// Contents of a `submission.toml`. Paths in it are relative to its folder.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SubmissionSettings {
    /// Name of the submitter, and of its folder.
    pub submitter: Option<String>,
    /// Division: network, closed or open.
    pub division: Option<Division>,
    /// Availability of the system.
    pub status: Option<Status>,
    /// Round, such as v5.0.
    pub round: Option<RoundName>,
    /// Markdown file that describes the calibration of quantization (rules, section 2.3).
    pub calibration: Option<PathBuf>,
    /// Approval of the compression of samples: by whom, when, and where it is documented (section
    /// 6.2.4).
    pub compression_approval: Option<String>,
    /// Reason why the submission is in the Open division.
    pub reason: Option<String>,
    /// Table `[system]`: `id`, which is the name of the system's folder, and fields of the system
    /// description.
    pub system: BTreeMap<String, toml::Value>,
    /// Description of the power measurement.
    pub power: Option<Power>,
    /// Network between the machines.
    pub topology: Topology,
    /// Path from the network to the accelerators (section 5.1).
    pub architecture: Architecture,
    /// Submitted results, one per benchmark and scenario.
    #[serde(rename = "result")]
    pub results: Vec<ResultSettings>,
    /// Report on retraining, required for a result with a retrained model (retraining rules,
    /// section 10).
    pub retraining: Option<Retraining>,
    #[serde(skip)]
    pub(crate) file: String,
    #[serde(skip)]
    pub(super) todos: Vec<Todo>,
}

/// Availability of a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Status {
    /// All components can be bought or used.
    Available,
    /// The system will be available soon.
    Preview,
    /// Research, development or internal.
    Rdi,
}

/// Retraining of a model: yes or no.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Retrained {
    /// The model was retrained.
    Yes,
    /// The model was not retrained.
    #[default]
    No,
}

/// Switches and links between the machines (section 6.2.3).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Topology {
    /// Explanation of the diagram.
    pub text: Option<String>,
    /// Switches.
    #[serde(rename = "switch")]
    pub switches: Vec<SwitchSettings>,
    /// Links.
    #[serde(rename = "link")]
    pub links: Vec<LinkSettings>,
}

impl Topology {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_none() && self.switches.is_empty() && self.links.is_empty()
    }
}

/// A switch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchSettings {
    /// Name by which the links in this file refer to the switch.
    pub name: String,
    /// Vendor and model.
    #[serde(deserialize_with = "one_line")]
    pub model: String,
    /// Number of ports.
    pub ports: u32,
    /// Speed of a port, such as "400 Gb/s".
    #[serde(deserialize_with = "one_line")]
    pub speed: String,
}

/// A link between two ends: a cable.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSettings {
    /// First end: `MACHINE:INTERFACE` or `SWITCH:PORT`. The LoadGen node is `loadgen`, and SUT
    /// nodes have their own names.
    pub from: String,
    /// Second end, in the same form.
    pub to: String,
    /// Medium, such as "copper DAC" or "fiber".
    #[serde(deserialize_with = "one_line")]
    pub media: String,
    /// Rate, such as "100 Gb/s".
    #[serde(deserialize_with = "one_line")]
    pub rate: String,
    /// Length, such as "2 m".
    #[serde(default, deserialize_with = "length")]
    pub length: Option<String>,
}

/// Reads a text, and replaces its line breaks and repeated spaces by single spaces, because a table
/// would drop them.
fn one_line<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    Ok(on_one_line(&String::deserialize(text)?))
}

/// Reads a length; `None` if the text is empty or [`UNKNOWN`].
fn length<'de, D: Deserializer<'de>>(text: D) -> Result<Option<String>, D::Error> {
    Ok(Some(one_line(text)?).filter(|text| !text.is_empty() && text != UNKNOWN))
}

/// Description of the power measurement. The measured files belong to the results
/// ([`ResultSettings::power`]).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Power {
    /// Description of the setup.
    pub text: Option<String>,
    /// File that describes the analyzers.
    pub analyzer_table: Option<PathBuf>,
    /// File with the settings that affect power.
    pub power_settings: Option<PathBuf>,
    /// YAML file with the rated power of the system's components, from round v6.1 on.
    pub nameplate: Option<PathBuf>,
}

/// Path from the network to the accelerators.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Architecture {
    /// Path from the NIC to the accelerator, with the bandwidth of each part.
    pub data_path: Option<String>,
    /// Evidence of this bandwidth: a text, or a file such as the fabric.json of `loadgen-node
    /// fabric`.
    pub measurement: Option<String>,
}

/// A benchmark in a scenario: the folders of its runs, and the changes to the model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResultSettings {
    /// Name of the benchmark.
    pub benchmark: Option<String>,
    /// Scenario: offline or server, or an official name.
    #[serde(deserialize_with = "scenario")]
    pub scenario: Option<Scenario>,
    /// Folder of the performance run.
    pub performance: Option<PathBuf>,
    /// Folder of the accuracy run.
    pub accuracy: Option<PathBuf>,
    /// Output of the official accuracy script. Not needed if the run compared responses with
    /// labels.
    pub accuracy_txt: Option<PathBuf>,
    /// Folder that `loadgen-node audit` made. It contains a folder for each compliance test, such
    /// as `TEST01`.
    pub compliance: Option<PathBuf>,
    /// Folder of a run with `--digests`.
    pub digests: Option<PathBuf>,
    /// Folder that the measurement client of mlcommons/power-dev made; the performance run is
    /// `run_1` in it.
    pub power: Option<PathBuf>,
    /// File with the weights that the model was made from.
    pub starting_weights_filename: Option<String>,
    /// Data types of the weights, such as "fp16".
    pub weight_data_types: Option<String>,
    /// Transformations of the weights, such as "fp16 conversion"; "none" if there were none.
    pub weight_transformations: Option<String>,
    /// Data types of the inputs, such as "uint8".
    pub input_data_types: Option<String>,
    /// Retraining of the model: yes or no.
    pub retraining: Retrained,
    /// Instructions to reproduce the result: a Markdown file, or text. They precede the generated
    /// text.
    pub readme: Option<String>,
}

/// Report on a retrained model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retraining {
    /// Share of the training data that was used, above 0 and at most 1.
    pub retraining_data_fraction: Option<f64>,
    /// Share of the epochs of the original training, above 0 and at most 1.
    pub retraining_epoch_fraction: Option<f64>,
    /// Number of parameters that are not zero.
    pub non_zero_parameters: Option<u64>,
    /// Size of the model in bytes.
    pub model_size_bytes: Option<u64>,
    /// Number formats of the model.
    pub numerics: Option<String>,
    /// Description of the quantization, in enough detail to repeat it.
    pub quantization: Option<String>,
}

/// Reads a scenario by netdiv's name or by the official name.
fn scenario<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Scenario>, D::Error> {
    let word = String::deserialize(from)?;
    let known = || Scenario::deserialize(word.as_str().into_deserializer());
    Scenario::of_official_name(&word).map_or_else(known, Ok).map(Some)
}

impl SubmissionSettings {
    /// Reads a `submission.toml`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or is not a valid `submission.toml`; the error names the
    /// line.
    pub fn read(path: &Path) -> Result<Self, Gap> {
        let file = path.display().to_string();
        let refused = |text| Gap { file: Some(file.clone()), text };
        let text = files::read_toml(path).map_err(|error| refused(error.to_string()))?;
        let settings = Self::of_text(&text).map_err(refused)?;
        Ok(Self { todos: todos(&text), file, ..settings })
    }

    pub(crate) fn of_text(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| with_suggestion(&error.to_string()))
    }

    /// Returns the text of the file in a tree. It has no paths of runs and of power files, which
    /// the tree contains in other folders.
    pub(super) fn in_tree(&self) -> String {
        let mut settings = self.clone();
        for result in &mut settings.results {
            *result = ResultSettings {
                performance: None,
                accuracy: None,
                accuracy_txt: None,
                compliance: None,
                digests: None,
                power: None,
                ..std::mem::take(result)
            };
        }
        if let Some(power) = &mut settings.power {
            *power = Power { text: power.text.take(), ..Power::default() };
        }
        // Values that were read from TOML are always valid TOML.
        format!("{HEAD}{}", toml::to_string(&settings).unwrap_or_default())
    }
}
