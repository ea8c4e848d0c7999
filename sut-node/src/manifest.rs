//! What stands beside a model file: what the model takes and gives, and what the node does before and after it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use netdiv_plugin::Precision;
use netdiv_proto::{
    encoding::{self, Encoding},
    layout::{DataType, TensorSpec, TensorView, type_name},
};
use serde::Deserialize;

use crate::config::BatchingArgs;

/// A manifest whose parts are known words and fit together.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Name of the model.
    pub name: String,
    /// The model file.
    pub model: PathBuf,
    /// Name of the pre- and post-processing.
    pub workload: String,
    /// Type of the weights.
    pub precision: Precision,
    /// Where the weights come from.
    pub weights: String,
    /// Encodings of samples that the node takes.
    pub encodings: Vec<Encoding>,
    /// What the model takes, in the order of its arguments.
    pub inputs: Vec<Shape>,
    /// What it gives.
    pub outputs: Vec<Shape>,
    /// Settings of the workload.
    pub parameters: toml::Table,
    /// Settings of the batcher, by scenario.
    pub batching: BTreeMap<String, BatchingArgs>,
    /// Number of different names of free lengths.
    free: usize,
}

/// A tensor without its batch dimension.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Name.
    pub name: String,
    /// Element type.
    pub data_type: DataType,
    /// Dimensions.
    pub dimensions: Vec<Dimension>,
}

/// The length of a dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dimension {
    /// Always the same.
    Fixed(usize),
    /// Varies; the number stands for its name.
    Free(usize),
}

/// Why a manifest was refused.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct ManifestError {
    /// The manifest.
    pub path: PathBuf,
    /// What is wrong, and what would be right.
    pub why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    model: PathBuf,
    workload: String,
    precision: String,
    #[serde(default)]
    weights: String,
    encodings: Option<Vec<String>>,
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
    data_type: String,
    shape: Vec<Length>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Length {
    Fixed(i64),
    Free(String),
}

/// Names that `[batching.NAME]` may have: a scenario, or any that has no table of its own.
const SCENARIOS: [&str; 5] = ["offline", "server", "single-stream", "multi-stream", "default"];

const DATA_TYPES: [DataType; 6] = [
    DataType::Uint8,
    DataType::Int8,
    DataType::Int32,
    DataType::Int64,
    DataType::Float16,
    DataType::Float32,
];

impl Manifest {
    /// Reads and checks a manifest.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let bad = |why: String| ManifestError { path: path.into(), why };
        let text =
            fs::read_to_string(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
        let file: File = toml::from_str(&text)
            .map_err(|error| bad(format!("not a manifest (docs/MODELS.md): {error}")))?;
        file.check(path.parent().unwrap_or(Path::new(""))).map_err(bad)
    }

    /// The lengths that a sample's tensors give to the free dimensions; an error when they disagree.
    pub(crate) fn lengths(&self, tensors: &[TensorView<'_>]) -> Result<Vec<usize>, String> {
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
                        "{} has a length of {length} where {known} belongs",
                        shape.name
                    ));
                }
            }
        }
        Ok(lengths.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Number of different free lengths.
    pub(crate) fn free(&self) -> usize {
        self.free
    }
}

impl Shape {
    /// With the batch dimension, and the lengths of free dimensions.
    pub(crate) fn of_batch(&self, rows: usize, lengths: &[usize]) -> Vec<usize> {
        let length = |dimension: &Dimension| match dimension {
            Dimension::Fixed(length) => *length,
            Dimension::Free(number) => lengths.get(*number).copied().unwrap_or(0),
        };
        std::iter::once(rows).chain(self.dimensions.iter().map(length)).collect()
    }

    /// As the wire and plug-ins say it.
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

    /// The lengths, when none is free.
    pub(crate) fn fixed(&self) -> Option<Vec<usize>> {
        let length = |dimension: &Dimension| match dimension {
            Dimension::Fixed(length) => Some(*length),
            Dimension::Free(_) => None,
        };
        self.dimensions.iter().map(length).collect()
    }
}

impl File {
    fn check(self, folder: &Path) -> Result<Manifest, String> {
        let precision = match self.precision.as_str() {
            "fp32" => Precision::Fp32,
            "tf32" => Precision::Tf32,
            "fp16" => Precision::Fp16,
            "bf16" => Precision::Bf16,
            other => {
                return Err(format!("precision = {other:?}: choose one of fp32, tf32, fp16, bf16"));
            }
        };
        let encodings = self.encodings.unwrap_or_else(|| vec!["none".into()]);
        let encoding = |name: &String| {
            encoding::from_name(name)
                .ok_or_else(|| format!("encodings: {name:?} is none of none, zstd, lz4"))
        };
        let encodings = encodings.iter().map(encoding).collect::<Result<Vec<_>, _>>()?;
        if encodings.is_empty() || self.inputs.is_empty() || self.outputs.is_empty() {
            return Err("encodings, inputs and outputs must not be empty".into());
        }
        if let Some(name) = self.batching.keys().find(|name| !SCENARIOS.contains(&name.as_str())) {
            return Err(format!("[batching.{name}]: choose one of {}", SCENARIOS.join(", ")));
        }
        let batching = self.batching.into_iter().map(|(name, table)| {
            let args = BatchingArgs::of_table(table);
            args.map_err(|error| format!("[batching.{name}]: {error}")).map(|args| (name, args))
        });
        let batching = batching.collect::<Result<_, _>>()?;
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
                known.ok_or_else(|| format!("the free length {name:?} is none of the inputs'"))
            })
        });
        let outputs = outputs.collect::<Result<Vec<_>, String>>()?;
        Ok(Manifest {
            name: self.name,
            model: folder.join(self.model),
            workload: self.workload,
            precision,
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
        let data_type = DATA_TYPES.into_iter().find(|known| type_name(*known) == self.data_type);
        let data_type = data_type.ok_or_else(|| {
            let names = DATA_TYPES.map(type_name).join(", ");
            format!("{}: data_type = {:?}: choose one of {names}", self.name, self.data_type)
        })?;
        let dimensions = self.shape.into_iter().map(|length| match length {
            Length::Fixed(length) => match usize::try_from(length) {
                Ok(1..) => Ok(Dimension::Fixed(length as usize)),
                _ => Err(format!(
                    "{}: a length of {length}; a name stands for a free one",
                    self.name
                )),
            },
            Length::Free(name) => {
                number(name).map(Dimension::Free).map_err(|error| format!("{}: {error}", self.name))
            }
        });
        let dimensions = dimensions.collect::<Result<_, _>>()?;
        Ok(Shape { name: self.name, data_type, dimensions })
    }
}
