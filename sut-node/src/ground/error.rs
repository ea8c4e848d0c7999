//! Why an engine failed, or a sample has no answer.

use netdiv_contract::layout::LayoutError;
use netdiv_plugin::PluginError;

/// Why an engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The model file cannot be read.
    #[error("cannot read the model {path}: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// The model file is not a model, or uses what the runtime lacks.
    #[error("{path} cannot be loaded as an ONNX model: {why}")]
    NotAModel {
        /// The file.
        path: String,
        /// What the runtime says.
        why: String,
    },
    /// The model's inputs or outputs are of a kind that this engine does not serve.
    #[error("the model {path} cannot be served: {why}")]
    Unsupported {
        /// The file.
        path: String,
        /// What is missing.
        why: String,
    },
    /// A sample does not fit the model.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A sample cannot be read.
    #[error("{0}")]
    BadSample(String),
    /// The model failed on a batch.
    #[error("the model failed: {0}")]
    Failed(String),
    /// The engine is a plug-in, which cannot be loaded or says no.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// Nothing that the plug-in finds can be computed on.
    #[error(
        "the plug-in {plugin} has no device to run on: {found}. `sut-node devices` shows what it finds; --devices names one"
    )]
    NoDevice {
        /// The plug-in's name.
        plugin: String,
        /// The devices that it finds, and why they are not usable.
        found: String,
    },
    /// The engine's thread cannot be started.
    #[error("cannot start: {0}")]
    Thread(std::io::Error),
    /// There is no libtorch.
    #[error("{0}")]
    NoLibtorch(String),
}

impl EngineError {
    /// Whether the device is lost, so that the node has to end.
    pub(crate) fn is_lost_device(&self) -> bool {
        matches!(self, Self::Plugin(PluginError::DeviceLost(_)))
    }

    /// Whether the sample is to blame.
    pub(crate) fn is_bad_sample(&self) -> bool {
        matches!(self, Self::Layout(_) | Self::BadSample(_))
    }
}
