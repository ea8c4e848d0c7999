//! Identity of the served model.

use std::sync::Arc;

use bytes::Bytes;
use clap::ValueEnum as _;
use netdiv_contract::{
    encoding::Encoding,
    layout::{DataType, InputLayout, LayoutError, TensorSpec},
};
use netdiv_node_common::words::EngineFacts;

use crate::model::{
    payload::Payload,
    served_model::ServedModel,
    token_limits::{TokenLimits, UnfitPrompt},
    workload::Workload,
};

/// Reason why a sample does not fit the model.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UnfitSample {
    /// The layout differs from the model's.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The prompt does not fit the model.
    #[error(transparent)]
    Prompt(#[from] UnfitPrompt),
}

/// Identity of a model, and the layout of its samples.
#[derive(Debug, Clone)]
pub struct Model {
    /// Kind of engine, for instance "onnx".
    pub engine: String,
    /// Name and version of the runtime of the model; empty without one.
    pub framework: String,
    /// Name of the model.
    pub name: String,
    /// SHA-256 of the model file, followed by its external data, in hex; empty without a model.
    pub sha256: String,
    /// Layout of a sample.
    pub input: InputLayout,
    /// Encodings that the model accepts.
    pub encodings: Vec<Encoding>,
    /// Limits of the tokens, for outputs of tokens.
    pub tokens: Option<TokenLimits>,
    /// Ids that end an output, if the engine knows them.
    pub(crate) end_tokens: Vec<u32>,
    /// Bytes of a response, if the engine knows them in advance; 0 otherwise.
    pub(crate) answer_bytes: u64,
    /// Findings of the engine while it loaded the model.
    pub(crate) found: Option<EngineFacts>,
    /// Sizes that batches are filled up to, if the device and not the operator chose them.
    pub(crate) batch_sizes: Option<Vec<usize>>,
    /// Processing before and after the model, unless the engine does it itself.
    pub(crate) workload: Option<Arc<dyn Workload>>,
}

impl Model {
    /// Describes an engine that accepts any bytes.
    pub(crate) fn any_bytes(engine: &str) -> Self {
        Self {
            engine: engine.into(),
            framework: String::new(),
            name: "none".into(),
            sha256: String::new(),
            input: InputLayout::default(),
            encodings: Encoding::value_variants().to_vec(),
            tokens: None,
            end_tokens: Vec::new(),
            answer_bytes: 0,
            found: None,
            batch_sizes: None,
            workload: None,
        }
    }

    /// Describes an engine whose prompts and outputs are token ids.
    pub(crate) fn of_tokens(engine: &str, limits: TokenLimits) -> Self {
        let (name, data_type) = ("input_ids".into(), DataType::Int32 as i32);
        let prompt = TensorSpec { name, data_type, shape: vec![-1] };
        Self {
            input: InputLayout { tensors: vec![prompt] },
            tokens: Some(limits),
            ..Self::any_bytes(engine)
        }
    }

    /// Describes an engine that runs a language model.
    pub(crate) fn of_language(engine: &str, served: &ServedModel) -> Self {
        Self {
            name: served.name.clone(),
            sha256: served.sha256.clone(),
            end_tokens: served.eos.clone(),
            ..Self::of_tokens(engine, served.limits())
        }
    }

    /// Reads a decoded sample. Fails if it does not fit the model.
    pub fn read(&self, sample: Bytes) -> Result<Payload, UnfitSample> {
        let payload = Payload::read(&self.input, sample)?;
        if let (Some(limits), [prompt, ..]) = (self.tokens, payload.tensors()) {
            limits.check(prompt)?;
        }
        Ok(payload)
    }

    /// True if every response has a payload. An engine without a model returns the requested
    /// length, which may be 0.
    pub(crate) fn is_never_empty(&self) -> bool {
        let may_be_empty = self.workload.as_ref().is_some_and(|workload| workload.may_be_empty());
        (!self.sha256.is_empty() || self.tokens.is_some()) && !may_be_empty
    }

    /// Returns the memory in bytes that a sample of that decoded length needs, besides its own
    /// bytes, until it is answered.
    pub(crate) fn working_bytes(&self, decoded: u64) -> u64 {
        let workload = self.workload.as_ref().map_or(0, |workload| workload.working_bytes(decoded));
        workload.saturating_add(self.answer_bytes)
    }

    /// Returns the length of a sample in the workload's unit, which batches add up.
    pub(crate) fn length(&self, payload: &Payload) -> usize {
        self.workload.as_ref().map_or(1, |workload| workload.length(payload))
    }
}
