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
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error as _},
};

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

/// File that describes a model, in TOML. The engine, and the keys in the file, determine what it
/// describes.
#[derive(Debug)]
pub(crate) struct ModelFile<'a> {
    pub(crate) path: &'a Path,
    text: String,
}

impl<'a> ModelFile<'a> {
    /// Reads the file. Fails if it contains placeholders.
    pub(crate) fn read(path: &'a Path) -> anyhow::Result<Self> {
        let refused = |why: String| anyhow::anyhow!("{}: {why}", path.display());
        let text = files::read_toml(path).map_err(|error| {
            let hint = if is_hub_name(path) { HUB_HINT } else { "" };
            refused(format!("cannot be read: {error}{hint}"))
        })?;
        match todos(&text).as_slice() {
            [] => Ok(Self::new(path, text)),
            todos => Err(refused(todos.iter().map(Todo::to_string).collect::<Vec<_>>().join("; "))),
        }
    }

    pub(crate) fn new(path: &'a Path, text: impl Into<String>) -> Self {
        Self { path, text: text.into() }
    }

    /// Returns the value of a key; `None` if it is missing, or if the file is not TOML.
    pub(crate) fn value(&self, key: &str) -> Option<toml::Value> {
        toml::from_str::<toml::Table>(&self.text).ok()?.remove(key)
    }

    /// Reads the keys of `T`, and passes them to `check`. `kind` begins the error if the keys are
    /// others.
    pub(crate) fn parse<T: DeserializeOwned, M>(
        &self,
        kind: &str,
        check: impl FnOnce(T) -> Result<M, String>,
    ) -> anyhow::Result<M> {
        toml::from_str(&self.text)
            .map_err(|error| format!("{kind}{}", with_suggestion(&error.to_string())))
            .and_then(check)
            .map_err(|why| anyhow::anyhow!("{}: {why}", self.path.display()))
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
    inputs: Vec<TensorEntry>,
    outputs: Vec<TensorEntry>,
    #[serde(default)]
    parameters: toml::Table,
    #[serde(default)]
    batching: BTreeMap<String, toml::Table>,
}

/// A tensor, as a manifest or the class of an engine in Python declares it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TensorEntry {
    name: String,
    #[serde(deserialize_with = "data_type", alias = "dtype")]
    data_type: DataType,
    shape: Vec<Length>,
}

#[derive(Debug, Deserialize)]
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
    pub(crate) fn of(file: &ModelFile<'_>) -> anyhow::Result<Self> {
        file.parse("not a manifest (docs/ENGINES.md): ", |keys: ManifestFile| keys.check(file.path))
    }

    /// Returns the number of different names that the free dimensions have.
    pub(crate) fn free(&self) -> usize {
        self.free
    }
}

/// Returns the lengths of the free dimensions in a sample's tensors, indexed by the number in
/// [`Dimension::Free`]. Fails if a length is 0, or if two dimensions of the same number differ in
/// length. `free` is the number of free dimensions.
pub(crate) fn free_lengths(
    inputs: &[Shape],
    free: usize,
    tensors: &[Tensor<Bytes>],
) -> Result<Vec<usize>, String> {
    let mut lengths = vec![None; free];
    for (shape, tensor) in inputs.iter().zip(tensors) {
        for (place, number) in shape.free() {
            let Some(&length) = tensor.shape.get(place) else { continue };
            if length == 0 {
                return Err(format!("{} is empty", shape.name));
            }
            let known = *lengths[number].get_or_insert(length);
            if known != length {
                return Err(format!("{} has a length of {length}; expected {known}", shape.name));
            }
        }
    }
    Ok(lengths.into_iter().map(Option::unwrap_or_default).collect())
}

impl Shape {
    /// Returns the place and the number of each free dimension, in order.
    pub(crate) fn free(&self) -> impl Iterator<Item = (usize, usize)> {
        self.dimensions.iter().enumerate().filter_map(|(place, dimension)| match dimension {
            Dimension::Fixed(_) => None,
            Dimension::Free(number) => Some((place, *number)),
        })
    }

    /// Returns the lengths of all dimensions; `None` if `free` has no length for the number of a
    /// free one.
    fn lengths(&self, free: impl Fn(usize) -> Option<usize>) -> Option<Vec<usize>> {
        let length = |dimension: &Dimension| match dimension {
            Dimension::Fixed(length) => Some(*length),
            Dimension::Free(number) => free(*number),
        };
        self.dimensions.iter().map(length).collect()
    }

    /// Returns the shape of the tensor for a batch: the number of rows, followed by the dimensions.
    /// `lengths` are the lengths of the free dimensions, by number.
    pub(crate) fn of_batch(&self, rows: usize, lengths: &[usize]) -> Vec<usize> {
        let own = self.lengths(|number| Some(lengths.get(number).copied().unwrap_or(0)));
        std::iter::once(rows).chain(own.unwrap_or_default()).collect()
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

    /// Returns the size of a row in bytes, if the free dimensions have these lengths, by number.
    /// Returns `None` if one of them has no length, or if the row is too long.
    pub(crate) fn row_bytes(&self, free: &[usize]) -> Option<u64> {
        let mut lengths = self.lengths(|number| free.get(number).copied())?.into_iter();
        let element = element_bytes(self.data_type) as u64;
        lengths.try_fold(element, |bytes, length| bytes.checked_mul(length as u64))
    }

    /// Returns the lengths of all dimensions; `None` if a dimension is free.
    pub(crate) fn fixed(&self) -> Option<Vec<usize>> {
        self.lengths(|_| None)
    }
}

/// Returns the number of a free dimension's name, which is its place in `names`. Adds a new name.
pub(crate) fn number_of(names: &mut Vec<String>, name: String) -> usize {
    let known = names.iter().position(|known| *known == name);
    known.unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

impl ManifestFile {
    fn check(self, path: &Path) -> Result<Manifest, String> {
        let encodings = self.encodings.unwrap_or_else(|| vec![Encoding::None]);
        if encodings.is_empty() || self.inputs.is_empty() || self.outputs.is_empty() {
            return Err("encodings, inputs and outputs must not be empty".into());
        }
        let batching = BatchingTables::read(self.batching)?;
        let mut names = Vec::new();
        let inputs = self.inputs.into_iter();
        let inputs = inputs.map(|entry| entry.check(|name| Ok(number_of(&mut names, name))));
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

impl TensorEntry {
    /// Checks the lengths. `number` returns the number of the name of a free length.
    pub(crate) fn check(
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
