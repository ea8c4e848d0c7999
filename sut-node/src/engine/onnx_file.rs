//! Files in ONNX format, loaded by rten.

use std::path::Path;

use netdiv_resources::files;
use sha2::{Digest as _, Sha256};

use crate::engine::error::EngineError;

/// What runs such models, with its version.
pub(super) const RTEN: &str = "rten 0.27";

/// A loaded file.
pub(super) struct OnnxFile {
    pub(super) model: rten::Model,
    pub(super) path: String,
    /// SHA-256 of its bytes, in hex.
    pub(super) sha256: String,
}

impl OnnxFile {
    pub(super) fn read(path: &Path) -> Result<Self, EngineError> {
        let path_text = path.display().to_string();
        match files::read(path, u64::MAX) {
            Ok(bytes) => Self::load(path_text, bytes),
            Err(error) => Err(EngineError::Unreadable { path: path_text, error }),
        }
    }

    /// One that is part of the program.
    pub(super) fn embedded(name: &str, bytes: &[u8]) -> Result<Self, EngineError> {
        Self::load(format!("{name} (embedded)"), bytes.to_vec())
    }

    fn load(path: String, bytes: Vec<u8>) -> Result<Self, EngineError> {
        let sha256 = hex::encode(Sha256::digest(&bytes));
        match rten::Model::load(bytes) {
            Ok(model) => Ok(Self { model, path, sha256 }),
            Err(error) => Err(EngineError::NotAModel { path, why: error.to_string() }),
        }
    }

    /// The error for a model that is none of the engine's kind.
    pub(super) fn unsupported(&self, why: impl Into<String>) -> EngineError {
        EngineError::Unsupported { path: self.path.clone(), why: why.into() }
    }
}
