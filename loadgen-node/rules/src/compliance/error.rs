//! Error of a compliance test that cannot be verified.

use std::path::Path;

use crate::facts::official_log::{LogError, Summary};

/// Error with all problems that prevent the verification of a compliance test.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct ComplianceError(pub(super) Vec<String>);

impl ComplianceError {
    pub(crate) fn new(path: &Path, why: impl std::fmt::Display) -> Self {
        Self(vec![format!("{}: {why}", path.display())])
    }

    /// Returns the individual problems.
    pub fn problems(&self) -> &[String] {
        &self.0
    }
}

impl From<LogError> for ComplianceError {
    fn from(error: LogError) -> Self {
        Self(vec![error.to_string()])
    }
}

/// Reads a summary. Fails if the official scripts cannot read it.
pub(super) fn read_summary(path: &Path) -> Result<Summary, ComplianceError> {
    let summary = Summary::read(path).map_err(|error| ComplianceError::new(path, error))?;
    match summary.malformed {
        None => Ok(summary),
        Some(why) => Err(ComplianceError::new(path, why)),
    }
}

/// Returns both values. If a value is missing, returns an error with the problems of both results.
pub(super) fn both<A, B>(
    one: Result<A, ComplianceError>,
    other: Result<B, ComplianceError>,
) -> Result<(A, B), ComplianceError> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(one), Err(other)) => Err(ComplianceError([one.0, other.0].concat())),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}
