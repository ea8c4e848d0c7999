//! What runs a model. Each instance is owned by one thread.

mod echo;
mod libtorch;
mod none;
mod one_by_one;
mod onnx;
mod plugin;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use netdiv_plugin::PluginError;
use netdiv_proto::{
    encoding::{self, Encoding},
    layout::{InputLayout, LayoutError},
};

#[cfg(test)]
pub(crate) use self::one_by_one::Infer;
pub use self::{
    libtorch::devices,
    plugin::{PluginConfig, PluginFile},
};
pub(crate) use self::{none::NoModel, one_by_one::OneByOne};
use crate::{
    config::{Config, EngineConfig},
    manifest::ManifestError,
    workload::Workload,
};

/// A model's identity and the samples it takes.
#[derive(Debug, Clone)]
pub struct Model {
    /// Kind of engine, for instance "onnx".
    pub engine: String,
    /// What runs the model, with its version; empty where there is none.
    pub framework: String,
    /// Name of the model.
    pub name: String,
    /// SHA-256 of the model file, in hex; empty when there is no model.
    pub sha256: String,
    /// What one sample holds.
    pub input: InputLayout,
    /// Encodings that it takes.
    pub encodings: Vec<Encoding>,
    /// What happens around it, where that is not the engine's own matter.
    pub(crate) workload: Option<Arc<dyn Workload>>,
}

impl Model {
    /// Of an engine that takes any bytes.
    fn any_bytes(engine: &str) -> Self {
        Self {
            engine: engine.into(),
            framework: String::new(),
            name: "none".into(),
            sha256: String::new(),
            input: InputLayout::default(),
            encodings: encoding::SUPPORTED.to_vec(),
            workload: None,
        }
    }

    /// What a sample counts in its batch, besides one.
    pub(crate) fn length(&self, payload: &[u8]) -> usize {
        self.workload.as_ref().map_or(1, |workload| workload.length(payload))
    }
}

/// One instance of an engine.
pub trait Engine: Send {
    /// Batches that can be begun before the first of them is finished, at least one.
    fn in_flight(&self) -> usize;

    /// Begins a batch of decoded payloads, which fit the model's layout.
    fn begin(&mut self, batch: Vec<Bytes>);

    /// Waits for the batch that was begun first.
    fn finish(&mut self) -> Result<Inference, EngineError>;

    /// Runs before the node says that it is ready.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Runs one batch, when none is under way.
    fn infer(&mut self, batch: &[Bytes]) -> Result<Inference, EngineError> {
        self.begin(batch.to_vec());
        self.finish()
    }
}

/// What a batch gave.
#[derive(Debug)]
pub struct Inference {
    /// One response for each sample, in the batch's order, or why that sample has none.
    pub answers: Vec<Result<Bytes, EngineError>>,
    /// Time that it took to put the input together.
    pub prepare: Duration,
}

impl Inference {
    /// The responses, or the first error.
    pub fn responses(self) -> Result<Vec<Bytes>, EngineError> {
        self.answers.into_iter().collect()
    }
}

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
    /// A manifest that cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// There is no libtorch.
    #[error("{0}")]
    NoLibtorch(String),
}

impl EngineError {
    /// Whether the sample is to blame.
    pub(crate) fn is_bad_sample(&self) -> bool {
        matches!(self, Self::Layout(_) | Self::BadSample(_))
    }
}

/// Makes the configured engine's instances. They share the model's weights.
pub fn load(config: &Config) -> Result<(Model, Vec<Box<dyn Engine>>), EngineError> {
    match &config.engine {
        // Streams answer themselves.
        EngineConfig::None => Ok((Model::any_bytes("none"), Vec::new())),
        EngineConfig::Echo(settings) => {
            let engine = || OneByOne::boxed(echo::Echo::new(settings.clone()));
            Ok((Model::any_bytes("echo"), (0..config.instances).map(|_| engine()).collect()))
        }
        EngineConfig::Onnx(settings) => {
            let model = Arc::new(onnx::OnnxModel::load(settings)?);
            let engine = |_| OneByOne::boxed(onnx::Onnx::new(model.clone(), settings));
            Ok((model.describe(), (0..config.instances).map(engine).collect()))
        }
        EngineConfig::Plugin(settings) => plugin::load(settings, config),
    }
}
