//! Files in ONNX format, loaded by rten.

use std::{fmt::Display, path::Path};

use netdiv_node_common::resources::files;

use crate::{
    engine::{onnx_data, settings::unreadable},
    ground::error::EngineError,
};

/// Name and version of the runtime that runs models in ONNX format.
pub(super) const RTEN: &str = "rten 0.27";

/// A model that was loaded from a file in ONNX format.
pub(super) struct OnnxFile {
    pub(super) model: rten::Model,
    pub(super) path: String,
    /// SHA-256 of the file's bytes and external data, in hex.
    pub(super) sha256: String,
}

impl OnnxFile {
    pub(super) fn read(path: &Path) -> Result<Self, EngineError> {
        match files::read(path, u64::MAX) {
            Ok(bytes) => Self::load(path, bytes),
            Err(error) => Err(unreadable(path, error)),
        }
    }

    /// Loads a model that is part of the program.
    pub(super) fn embedded(name: &str, bytes: &[u8]) -> Result<Self, EngineError> {
        Self::load(format!("{name} (embedded)").as_ref(), bytes.to_vec())
    }

    fn load(path: &Path, bytes: Vec<u8>) -> Result<Self, EngineError> {
        let (path, loaded) = (path.display().to_string(), onnx_data::load(path, bytes));
        let (model, sha256) = loaded.map_err(|why| {
            EngineError::Start(format!("{path} cannot be loaded as an ONNX model: {why}"))
        })?;
        Ok(Self { model, path, sha256 })
    }

    /// Returns the error for a model that the engine does not support.
    pub(super) fn unsupported(&self, why: impl Display) -> EngineError {
        EngineError::unsupported(&self.path, why)
    }
}
