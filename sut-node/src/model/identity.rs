//! Which model is served.

use std::sync::Arc;

use bytes::Bytes;
use clap::ValueEnum as _;
use netdiv_contract::{
    encoding::Encoding,
    layout::{DataType, InputLayout, LayoutError, TensorSpec},
};
use netdiv_node_common::words::Found;

use crate::model::{
    payload::Payload,
    served::ServedModel,
    token_limits::{TokenLimits, UnfitPrompt},
    workload::Workload,
};

/// Why the model does not take a sample.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UnfitSample {
    /// Its layout is another one.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Its tokens are none of the model's.
    #[error(transparent)]
    Prompt(#[from] UnfitPrompt),
}

/// A model's identity and the samples it takes.
#[derive(Debug, Clone)]
pub struct Model {
    /// Kind of engine, for instance "onnx".
    pub engine: String,
    /// What runs the model, with its version; empty where there is none.
    pub framework: String,
    /// Name of the model.
    pub name: String,
    /// SHA-256 of the model file, followed by its external data, in hex; empty when there is no model.
    pub sha256: String,
    /// What one sample holds.
    pub input: InputLayout,
    /// Encodings that it takes.
    pub encodings: Vec<Encoding>,
    /// What is known of its tokens, where its outputs are made of them.
    pub tokens: Option<TokenLimits>,
    /// Ids that end an output, where its engine knows them.
    pub(crate) end_tokens: Vec<u32>,
    /// Bytes of an answer, where the engine knows them before it has one; 0 elsewhere.
    pub(crate) answer_bytes: u64,
    /// What the engine found out when it was loaded.
    pub(crate) found: Option<Found>,
    /// Sizes that batches are filled up to, where the device chose them and not the operator.
    pub(crate) batch_sizes: Option<Vec<usize>>,
    /// What happens around it, where that is not the engine's own matter.
    pub(crate) workload: Option<Arc<dyn Workload>>,
}

impl Model {
    /// Describes an engine that takes any bytes.
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

    /// Describes an engine that takes prompts and answers with outputs, both of token ids.
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

    /// Reads a decoded sample; an error when it does not fit.
    pub fn read(&self, sample: Bytes) -> Result<Payload, UnfitSample> {
        let payload = Payload::read(&self.input, sample)?;
        if let (Some(limits), [prompt, ..]) = (self.tokens, payload.tensors()) {
            limits.check(prompt)?;
        }
        Ok(payload)
    }

    /// Whether every response has a payload. An engine without a model answers what it is asked for, which may be nothing.
    pub(crate) fn is_never_empty(&self) -> bool {
        let may_be_empty = self.workload.as_ref().is_some_and(|workload| workload.may_be_empty());
        (!self.sha256.is_empty() || self.tokens.is_some()) && !may_be_empty
    }

    /// Bytes that a sample of that length, decoded, needs beside its own until it is answered.
    pub(crate) fn working_bytes(&self, decoded: u64) -> u64 {
        let workload = self.workload.as_ref().map_or(0, |workload| workload.working_bytes(decoded));
        workload.saturating_add(self.answer_bytes)
    }

    /// What a sample counts in its batch, besides one.
    pub(crate) fn length(&self, payload: &Payload) -> usize {
        self.workload.as_ref().map_or(1, |workload| workload.length(payload))
    }
}
