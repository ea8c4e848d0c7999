//! Failures of engines and of samples.

use std::{fmt::Display, io};

use netdiv_contract::layout::LayoutError;
use netdiv_plugin::PluginError;

/// Failure of an engine or of a sample.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine cannot be created, for this reason.
    #[error("{0}")]
    Start(String),
    /// A sample does not fit the model.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A sample is invalid, for this reason.
    #[error("{0}")]
    BadSample(String),
    /// The model failed on a batch.
    #[error("the model failed: {0}")]
    Failed(String),
    /// The engine is a plug-in that cannot be loaded or that reports an error.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// The process that computes for the engine is lost.
    #[error("the engine is lost: {0}")]
    Lost(String),
}

impl From<io::Error> for EngineError {
    fn from(error: io::Error) -> Self {
        Self::Start(format!("cannot start: {error}"))
    }
}

impl EngineError {
    /// Returns the error for a model that the engine does not support.
    pub(crate) fn unsupported(model: impl Display, why: impl Display) -> Self {
        Self::Start(format!("the model {model} cannot be served: {why}"))
    }

    /// Adds the name of the device onto which a model cannot be loaded.
    pub(crate) fn on(self, device: &str) -> Self {
        match self {
            Self::Start(why) => Self::Start(format!("{device}: {why}")),
            other => other,
        }
    }

    /// True if the device or the engine's process is lost, so that the node has to end.
    pub(crate) fn is_lost_device(&self) -> bool {
        matches!(self, Self::Plugin(PluginError::DeviceLost(_)) | Self::Lost(_))
    }

    /// True if the sample caused the failure.
    pub(crate) fn is_bad_sample(&self) -> bool {
        matches!(self, Self::Layout(_) | Self::BadSample(_))
    }
}
