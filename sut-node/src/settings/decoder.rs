//! Settings of the engine `decoder`.

use std::path::{Path, PathBuf};

use netdiv_node_common::resources::companion::expected;
use serde::Serialize;

use crate::model::{manifest::ManifestError, served::ServedModel};

/// What is known of the language model of the demo; `deploy/sorting/train.py` makes it.
const SORTING: &str = include_str!("../../../deploy/sorting/sorting.toml");

/// Settings of the engine `decoder`.
#[derive(Debug, Clone, Serialize)]
pub struct DecoderConfig {
    /// The model in ONNX format; `None`: the embedded one.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Threads of one instance.
    pub threads: usize,
    /// Description of the model.
    pub model: ServedModel,
}

/// Returns the model that lies beside its description.
fn model_beside(description: &Path) -> Result<PathBuf, ManifestError> {
    expected(description, |path| path.with_extension("onnx"))
        .map_err(|error| ManifestError { path: description.into(), why: error.to_string() })
}

impl DecoderConfig {
    /// Reads what is known of the model; the model itself lies beside that file, under the same name and ending in `.onnx`.
    /// `None`: that of the demo.
    pub(crate) fn new(description: Option<&Path>, threads: usize) -> Result<Self, ManifestError> {
        let (file, model) = match description {
            None => (None, ServedModel::parse("sorting.toml (embedded)".as_ref(), SORTING)?),
            Some(path) => (Some(model_beside(path)?), ServedModel::read(path)?),
        };
        Ok(Self { file, model, threads })
    }
}
