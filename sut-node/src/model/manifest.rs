//! The manifest of a model: its inputs and outputs, its workload, and the settings that suit it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use clap::ValueEnum as _;
use netdiv_contract::{
    encoding::Encoding,
    layout::{DataType, Tensor, TensorSpec, element_bytes, type_name},
};
use netdiv_node_common::{
    resources::{companion::relative, files},
    words::{Scenario, Todo, did_you_mean, todos, with_suggestion},
};
use netdiv_plugin::Precision;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::model::batching::BatchingArgs;

/// Manifest of a model of tensors, after its values were checked.
#[derive(Debug, Clone, Serialize)]
pub struct Manifest {
    /// Name of the model.
    pub name: String,
    /// Path of the model file.
    #[serde(skip)]
    pub model: PathBuf,
    /// Name of the processing of samples before and after the model.
    pub workload: WorkloadName,
    /// Element type of the weights.
    #[serde(serialize_with = "precision_name")]
    pub precision: Precision,
    /// Origin of the weights, as the manifest states it.
    pub weights: String,
    /// Encodings of samples that the node accepts.
    pub encodings: Vec<Encoding>,
    /// Inputs of the model, in the order of its arguments.
    pub inputs: Vec<Shape>,
    /// Outputs of the model.
    pub outputs: Vec<Shape>,
    /// Settings of the workload, from the table `[parameters]`.
    pub parameters: toml::Table,
    /// Settings of the batcher, from the tables `[batching.NAME]`.
    #[serde(skip)]
    pub batching: BatchingTables,
    /// Number of different names that the free dimensions have. Their lengths are variable.
    #[serde(skip)]
    free: usize,
}

/// Name of a workload: the pre- and post-processing (`docs/ENGINES.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum WorkloadName {
    /// Samples are the model's inputs; responses are the bytes of its first output.
    Tensors,
    /// Images; the response is a label.
    ImageClassification,
    /// Images; the response is boxes.
    ObjectDetection,
    /// Token ids; the response is a start and an end logit for each.
    QuestionAnswering,
    /// Volumes; the response is a label for each voxel.
    Segmentation,
    /// User-item pairs; the response is a probability for each.
    Recommendation,
    /// Token ids of a prompt; the response is an image's pixels.
    TextToImage,
    /// Number of a graph's node; the response is its class.
    NodeClassification,
}

/// Tables `[batching.NAME]`: settings of the batcher for a scenario, and defaults for all
/// scenarios.
#[derive(Debug, Clone, Default)]
pub struct BatchingTables {
    /// Table `[batching.default]`, with the defaults for all scenarios.
    pub default: BatchingArgs,
    /// Tables `[batching.SCENARIO]`, by scenario.
    pub scenarios: BTreeMap<Scenario, BatchingArgs>,
}

/// Name, element type and dimensions of an input or output of the model, without the batch
/// dimension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Name of the tensor.
    pub name: String,
    /// Element type.
    #[serde(serialize_with = "data_type_name")]
    pub data_type: DataType,
    /// Dimensions.
    #[serde(rename = "shape")]
    pub dimensions: Vec<Dimension>,
}

/// Length of a dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dimension {
    /// Fixed length.
    Fixed(usize),
    /// Variable length. Dimensions of the same name have the same number, and the same length
    /// within a sample.
    Free(usize),
}

impl Serialize for Dimension {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(length) => length.serialize(serializer),
            Self::Free(number) => serializer.collect_str(&format_args!("free {number}")),
        }
    }
}

/// Reason why a manifest is invalid.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct ManifestError {
    /// Path of the manifest.
    pub path: PathBuf,
    /// Error in the manifest, with its fix.
    pub why: String,
}

/// Reads the text of a model's file. Fails if it contains placeholders.
pub(crate) fn read_text(path: &Path) -> Result<String, ManifestError> {
    let refused = |why| ManifestError { path: path.into(), why };
    let text = files::read_toml(path).map_err(|error| {
        let hint = if is_hub_name(path) { HUB_HINT } else { "" };
        refused(format!("cannot be read: {error}{hint}"))
    })?;
    match todos(&text).as_slice() {
        [] => Ok(text),
        todos => Err(refused(todos.iter().map(Todo::to_string).collect::<Vec<_>>().join("; "))),
    }
}

/// Advice for a name on Hugging Face in place of a file.
const HUB_HINT: &str = "; --model takes the model's file (docs/ENGINES.md#the-models-file), not its name on Hugging Face";

/// Returns true for a missing path that has the form of a name on Hugging Face, such as
/// `meta-llama/Llama-3.1-8B`.
fn is_hub_name(path: &Path) -> bool {
    let is_file = path.extension().is_some_and(|extension| extension == "toml");
    path.is_relative() && path.components().count() == 2 && !is_file && !path.exists()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestFile {
    name: String,
    model: PathBuf,
    workload: WorkloadName,
    #[serde(deserialize_with = "precision")]
    precision: Precision,
    #[serde(default)]
    weights: String,
    encodings: Option<Vec<Encoding>>,
    inputs: Vec<Entry>,
    outputs: Vec<Entry>,
    #[serde(default)]
    parameters: toml::Table,
    #[serde(default)]
    batching: BTreeMap<String, toml::Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(deserialize_with = "data_type")]
    data_type: DataType,
    shape: Vec<Length>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Length {
    Fixed(i64),
    Free(String),
}

pub(crate) fn precision_name<S: Serializer>(
    precision: &Precision,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(precision.name())
}

fn data_type_name<S: Serializer>(data_type: &DataType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(type_name(*data_type))
}

pub(crate) fn precision<'de, D: Deserializer<'de>>(word: D) -> Result<Precision, D::Error> {
    one_of(word, &Precision::ALL, Precision::name)
}

fn data_type<'de, D: Deserializer<'de>>(word: D) -> Result<DataType, D::Error> {
    // Zero means that there is no type.
    let all: Vec<_> = (1..).map_while(|number| DataType::try_from(number).ok()).collect();
    one_of(word, &all, type_name)
}

/// Reads a name from `word`, and returns the value in `all` that has this name. `name` returns the
/// name of a value.
fn one_of<'de, T: Copy, D: Deserializer<'de>>(
    word: D,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<T, D::Error> {
    let word = String::deserialize(word)?;
    all.iter().copied().find(|one| name(*one) == word).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|one| format!("`{}`", name(*one))).collect();
        let names = names.join(", ");
        D::Error::custom(format!("unknown value `{word}`, expected one of {names}"))
    })
}

impl BatchingTables {
    /// Reads the tables, by their names. Fails for an unknown name or key.
    pub(crate) fn read(tables: BTreeMap<String, toml::Table>) -> Result<Self, String> {
        let mut all = Self::default();
        for (name, table) in tables {
            let bad = |error| format!("[batching.{name}]: {error}");
            let args = BatchingArgs::from_table(table).map_err(bad)?;
            if name == "default" {
                all.default = args;
            } else {
                let scenario = Scenario::from_str(&name, false).map_err(|_| {
                    let scenarios = Scenario::ALL.map(Scenario::word).join(", ");
                    let meant = did_you_mean(&name, Scenario::ALL.map(Scenario::word));
                    bad(format!("choose one of {scenarios}, default{meant}"))
                })?;
                all.scenarios.insert(scenario, args);
            }
        }
        Ok(all)
    }
}

impl Manifest {
    /// Reads and checks a manifest.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let bad = |why: String| ManifestError { path: path.into(), why };
        let file: ManifestFile = toml::from_str(&read_text(path)?).map_err(|error| {
            let why = with_suggestion(&error.to_string());
            bad(format!("not a manifest (docs/ENGINES.md): {why}"))
        })?;
        file.check(path).map_err(bad)
    }

    /// Returns the lengths of the free dimensions in a sample's tensors, indexed by the number in
    /// [`Dimension::Free`]. Fails if a length is 0, or if two dimensions of the same number differ
    /// in length.
    pub(crate) fn lengths(&self, tensors: &[Tensor<Bytes>]) -> Result<Vec<usize>, String> {
        let mut lengths = vec![None; self.free];
        for (shape, tensor) in self.inputs.iter().zip(tensors) {
            for (dimension, length) in shape.dimensions.iter().zip(&tensor.shape) {
                let Dimension::Free(number) = dimension else { continue };
                if *length == 0 {
                    return Err(format!("{} is empty", shape.name));
                }
                let known = lengths[*number].get_or_insert(*length);
                if known != length {
                    return Err(format!(
                        "{} has a length of {length}; expected {known}",
                        shape.name
                    ));
                }
            }
        }
        Ok(lengths.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Returns the number of different names that the free dimensions have.
    pub(crate) fn free(&self) -> usize {
        self.free
    }
}

impl Shape {
    /// Returns the shape of the tensor for a batch: the number of rows, followed by the dimensions.
    /// `lengths` are the lengths of the free dimensions, by number.
    pub(crate) fn of_batch(&self, rows: usize, lengths: &[usize]) -> Vec<usize> {
        let length = |dimension: &Dimension| match dimension {
            Dimension::Fixed(length) => *length,
            Dimension::Free(number) => lengths.get(*number).copied().unwrap_or(0),
        };
        std::iter::once(rows).chain(self.dimensions.iter().map(length)).collect()
    }

    /// Returns the tensor as the wire and plug-ins describe it.
    pub(crate) fn spec(&self) -> TensorSpec {
        let length = |dimension: &Dimension| match dimension {
            Dimension::Fixed(length) => *length as i64,
            Dimension::Free(_) => -1,
        };
        TensorSpec {
            name: self.name.clone(),
            data_type: self.data_type as i32,
            shape: self.dimensions.iter().map(length).collect(),
        }
    }

    /// Returns the size of a row in bytes; `None` if a dimension is free.
    pub(crate) fn row_bytes(&self) -> Option<u64> {
        let element = element_bytes(self.data_type) as u64;
        Some(self.fixed()?.into_iter().fold(element, |bytes, n| bytes.saturating_mul(n as u64)))
    }

    /// Returns the lengths of all dimensions; `None` if a dimension is free.
    pub(crate) fn fixed(&self) -> Option<Vec<usize>> {
        let length = |dimension: &Dimension| match dimension {
            Dimension::Fixed(length) => Some(*length),
            Dimension::Free(_) => None,
        };
        self.dimensions.iter().map(length).collect()
    }
}

impl ManifestFile {
    fn check(self, path: &Path) -> Result<Manifest, String> {
        let encodings = self.encodings.unwrap_or_else(|| vec![Encoding::None]);
        if encodings.is_empty() || self.inputs.is_empty() || self.outputs.is_empty() {
            return Err("encodings, inputs and outputs must not be empty".into());
        }
        let batching = BatchingTables::read(self.batching)?;
        let mut names = Vec::new();
        let inputs = self.inputs.into_iter().map(|entry| {
            entry.check(|name| {
                let known = names.iter().position(|known| *known == name);
                Ok(known.unwrap_or_else(|| {
                    names.push(name);
                    names.len() - 1
                }))
            })
        });
        let inputs = inputs.collect::<Result<Vec<_>, String>>()?;
        let outputs = self.outputs.into_iter().map(|entry| {
            entry.check(|name| {
                let known = names.iter().position(|known| *known == name);
                known.ok_or_else(|| format!("the free length {name:?} is missing in the inputs"))
            })
        });
        let outputs = outputs.collect::<Result<Vec<_>, String>>()?;
        Ok(Manifest {
            name: self.name,
            model: relative(path, &self.model).map_err(|error| error.to_string())?,
            workload: self.workload,
            precision: self.precision,
            weights: self.weights,
            encodings,
            inputs,
            outputs,
            parameters: self.parameters,
            batching,
            free: names.len(),
        })
    }
}

impl Entry {
    fn check(
        self,
        mut number: impl FnMut(String) -> Result<usize, String>,
    ) -> Result<Shape, String> {
        let dimensions = self.shape.into_iter().map(|length| match length {
            Length::Fixed(length) => match usize::try_from(length) {
                Ok(1..) => Ok(Dimension::Fixed(length as usize)),
                _ => Err(format!(
                    "{}: invalid length {length}; write a name for a free length",
                    self.name
                )),
            },
            Length::Free(name) => {
                number(name).map(Dimension::Free).map_err(|error| format!("{}: {error}", self.name))
            }
        });
        let dimensions = dimensions.collect::<Result<_, _>>()?;
        Ok(Shape { name: self.name, data_type: self.data_type, dimensions })
    }
}
