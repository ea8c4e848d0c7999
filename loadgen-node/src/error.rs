//! Errors of commands, and their exit codes.

use std::fmt::Display;

use netdiv_dataset::DatasetError;
use netdiv_node_common::resources::remedy;
use netdiv_qdl::ConnectError;

/// Exit code for invalid settings or files, or unusable nodes.
const EXIT_USAGE: u8 = 2;
pub(crate) const EXIT_FAILED: u8 = 3;

/// Reason why a command has no result, or a run no verdict.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A setting is missing or invalid.
    #[error("{0}")]
    Usage(String),
    /// The data set cannot be used.
    #[error("data set: {0}")]
    Dataset(#[from] DatasetError),
    /// The nodes cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The run began and did not finish.
    #[error("the run failed: {0}")]
    Failed(String),
    /// An official script failed.
    #[error("{0}")]
    Script(String),
    /// Results could not be written.
    #[error("cannot write {path}: {error}{}", remedy(error))]
    Output {
        /// File or folder, or `to standard output`.
        path: String,
        /// Error of the system.
        error: std::io::Error,
    },
}

impl From<netdiv_node_common::process::SettingsError> for RunError {
    fn from(error: netdiv_node_common::process::SettingsError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl RunError {
    /// Refuses a setting or a file for this reason.
    pub(crate) fn invalid(why: impl Display) -> Self {
        Self::Usage(why.to_string())
    }

    /// Ends a run or a command for this reason.
    pub(crate) fn failed(why: impl Display) -> Self {
        Self::Failed(why.to_string())
    }

    /// Returns the process's exit code.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Dataset(_) | Self::Connect(_) => EXIT_USAGE,
            Self::Failed(_) | Self::Script(_) | Self::Output { .. } => EXIT_FAILED,
        }
    }
}
