//! What runs a model. Each instance is owned by one thread and does one batch at a time.

mod echo;
mod none;
mod onnx;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use netdiv_proto::layout::{InputLayout, LayoutError};

use crate::config::{Config, EngineConfig};

/// A model's identity and the samples it takes.
#[derive(Debug, Clone)]
pub struct Model {
    /// Kind of engine, for instance "onnx".
    pub engine: &'static str,
    /// Name of the model.
    pub name: String,
    /// SHA-256 of the model file, in hex; empty when there is no model.
    pub sha256: String,
    /// What one sample holds.
    pub input: InputLayout,
}

/// One instance of an engine.
pub trait Engine: Send {
    /// Runs one batch of decoded payloads, which fit the model's layout.
    fn infer(&mut self, batch: &[Bytes]) -> Result<Inference, EngineError>;

    /// Runs before the node says that it is ready.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// What a batch gave.
#[derive(Debug)]
pub struct Inference {
    /// One response for each sample, in the batch's order.
    pub answers: Vec<Bytes>,
    /// Time that it took to put the input together.
    pub prepare: Duration,
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
    /// The model failed on a batch.
    #[error("the model failed: {0}")]
    Failed(String),
}

pub(crate) use none::NoModel;

/// Makes the configured engine's instances. They share the model's weights.
pub fn load(config: &Config) -> Result<(Model, Vec<Box<dyn Engine>>), EngineError> {
    match &config.engine {
        // Streams answer themselves.
        EngineConfig::None => Ok((none::model(), Vec::new())),
        EngineConfig::Echo(settings) => {
            let engine = || Box::new(echo::Echo::new(settings.clone())) as Box<dyn Engine>;
            let engines = (0..config.instances).map(|_| engine()).collect();
            Ok((echo::model(), engines))
        }
        EngineConfig::Onnx(settings) => {
            let model = Arc::new(onnx::OnnxModel::load(settings)?);
            let engine = |_| Box::new(onnx::Onnx::new(model.clone(), settings)) as Box<dyn Engine>;
            Ok((model.describe(), (0..config.instances).map(engine).collect()))
        }
    }
}
