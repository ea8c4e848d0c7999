//! Settings of the engine `decoder`, which runs a language model in ONNX format.

use std::path::{Path, PathBuf};

use netdiv_node_common::resources::companion::expected;
use serde::Serialize;

use crate::model::{manifest::ManifestError, served_model::ServedModel};

/// Description of the demo's language model, which `deploy/sorting/train.py` trains.
const SORTING: &str = include_str!("../../../deploy/sorting/sorting.toml");

/// Settings of the engine `decoder`, which runs a language model in ONNX format.
#[derive(Debug, Clone, Serialize)]
pub struct DecoderConfig {
    /// Path of the model in ONNX format; `None`: the embedded model.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Number of threads of an instance.
    pub threads: usize,
    /// Name and token limits of the model, from its description.
    pub model: ServedModel,
}

/// Returns the path of the ONNX file that is beside the model's description.
fn model_beside(description: &Path) -> Result<PathBuf, ManifestError> {
    expected(description, |path| path.with_extension("onnx"))
        .map_err(|error| ManifestError { path: description.into(), why: error.to_string() })
}

impl DecoderConfig {
    /// Reads the description of the model. The model itself is beside that file, with the same name
    /// and the ending `.onnx`. `None`: the model of the demo.
    pub(crate) fn new(description: Option<&Path>, threads: usize) -> Result<Self, ManifestError> {
        let (file, model) = match description {
            None => (None, ServedModel::parse("sorting.toml (embedded)".as_ref(), SORTING)?),
            Some(path) => (Some(model_beside(path)?), ServedModel::read(path)?),
        };
        Ok(Self { file, model, threads })
    }
}
