//! Why a log cannot be read.

use std::path::Path;

/// The file, and why it cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}")]
pub struct LogError {
    path: String,
    why: String,
}

impl LogError {
    pub(super) fn new(path: &Path, why: impl ToString) -> Self {
        Self { path: path.display().to_string(), why: why.to_string() }
    }
}
