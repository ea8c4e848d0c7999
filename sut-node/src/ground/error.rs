//! Failures of engines and of samples.

use netdiv_contract::layout::LayoutError;
use netdiv_plugin::PluginError;

/// Failure of an engine or of a sample.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The model file cannot be read.
    #[error("cannot read the model {path}: {error}")]
    Unreadable {
        /// Path of the model file.
        path: String,
        /// Error of the system.
        error: std::io::Error,
    },
    /// The model file is not a model, or requires features that the runtime lacks.
    #[error("{path} cannot be loaded as an ONNX model: {why}")]
    NotAModel {
        /// Path of the model file.
        path: String,
        /// Error of the runtime.
        why: String,
    },
    /// The model has inputs or outputs that this engine does not support.
    #[error("the model {path} cannot be served: {why}")]
    Unsupported {
        /// Path of the model file.
        path: String,
        /// Unsupported property of the model.
        why: String,
    },
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
    /// The worker of an engine in Python cannot be started.
    #[error("{0}")]
    Worker(String),
    /// The process that computes for the engine is lost.
    #[error("the engine is lost: {0}")]
    Lost(String),
    /// The plug-in finds no device that it can use.
    #[error(
        "the plug-in {plugin} has no device to run on: {found}. `sut-node devices` lists them; --devices selects one"
    )]
    NoDevice {
        /// Name of the plug-in.
        plugin: String,
        /// Devices that the plug-in finds, with the reasons why they are not usable.
        found: String,
    },
    /// The engine's thread cannot be started.
    #[error("cannot start: {0}")]
    Thread(std::io::Error),
    /// libtorch is missing.
    #[error("{0}")]
    NoLibtorch(String),
}

impl EngineError {
    /// True if the device or the engine's process is lost, so that the node has to end.
    pub(crate) fn is_lost_device(&self) -> bool {
        matches!(self, Self::Plugin(PluginError::DeviceLost(_)) | Self::Lost(_))
    }

    /// True if the sample caused the failure.
    pub(crate) fn is_bad_sample(&self) -> bool {
        matches!(self, Self::Layout(_) | Self::BadSample(_))
    }
}
