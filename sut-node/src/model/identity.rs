//! Description of the model that a node serves.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use clap::ValueEnum as _;
use netdiv_contract::{
    encoding::Encoding,
    layout::{DataType, InputLayout, TensorSpec},
    v1::Decoding,
};
use netdiv_node_common::words::EngineFacts;

use crate::model::{
    payload::Payload, sampling_seed::SamplingSeed, served_model::ServedModel,
    token_limits::TokenLimits, workload::Workload,
};

/// Description of the model that the engines run: its identity, the layout of its samples, and its
/// limits.
#[derive(Debug, Clone)]
pub struct Model {
    /// Kind of engine, for instance "onnx".
    pub engine: String,
    /// Name and version of the runtime that runs the model; empty if there is no runtime.
    pub framework: String,
    /// Name of the model.
    pub name: String,
    /// SHA-256 of the model file, followed by its external data, in hex; empty without a model.
    pub sha256: String,
    /// Layout of a sample.
    pub input: InputLayout,
    /// Encodings of samples that the node accepts for this model.
    pub encodings: Vec<Encoding>,
    /// Limits of prompts and outputs, in tokens; `None` if outputs are not tokens.
    pub tokens: Option<TokenLimits>,
    /// True if outputs are not tokens, and each has the number of the model's tokens beside it.
    pub token_counts: bool,
    /// Token ids that end an output; empty if the engine does not know them.
    pub(crate) end_tokens: Vec<u32>,
    /// Choice of the tokens of an output.
    pub(crate) decoding: Decoding,
    /// Number from which the seed of each sample is derived; `None` without seeds.
    pub(crate) sampling_seed: Option<SamplingSeed>,
    /// Size of a response in bytes; 0 if the engine does not know it in advance.
    pub(crate) answer_bytes: u64,
    /// Counters of the servers behind the engine; empty if it calls none.
    pub(crate) servers: Vec<ServerCount>,
    /// Facts that the engine detected while it loaded the model.
    pub(crate) found: Option<EngineFacts>,
    /// Sizes that batches are filled up to, if the device and not the operator chose them.
    pub(crate) batch_sizes: Option<Vec<usize>>,
    /// Processing of samples before and after the model; `None` if the engine does it itself.
    pub(crate) workload: Option<Arc<dyn Workload>>,
}

/// Counter of the requests to a server behind a node.
#[derive(Debug, Clone)]
pub(crate) struct ServerCount {
    /// Address of the server, as a URL.
    pub(crate) address: String,
    /// Requests for samples, retries included.
    pub(crate) requests: Arc<AtomicU64>,
}

impl ServerCount {
    /// Returns the number of requests so far.
    pub(crate) fn now(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
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
            token_counts: false,
            end_tokens: Vec::new(),
            decoding: Decoding::Unknown,
            sampling_seed: None,
            answer_bytes: 0,
            servers: Vec::new(),
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
            decoding: if served.sampled { Decoding::Sampled } else { Decoding::Greedy },
            ..Self::of_tokens(engine, served.limits())
        }
    }

    /// Reads a decoded sample. Fails with the reason if it does not fit the model.
    pub fn read(&self, sample: Bytes) -> Result<Payload, String> {
        let payload = Payload::read(&self.input, sample).map_err(|error| error.to_string())?;
        if let (Some(limits), [prompt, ..]) = (self.tokens, payload.tensors()) {
            limits.check(prompt)?;
        }
        Ok(payload)
    }

    /// True if every response has a payload. An engine without a model returns the requested
    /// length, which may be 0, and tokens may have no text.
    pub(crate) fn is_never_empty(&self) -> bool {
        let may_be_empty = self.workload.as_ref().is_some_and(|workload| workload.may_be_empty());
        (!self.sha256.is_empty() || self.tokens.is_some()) && !may_be_empty && !self.token_counts
    }

    /// Returns the memory in bytes that a sample of `decoded` bytes needs until it is answered, in
    /// addition to its own bytes.
    pub(crate) fn working_bytes(&self, decoded: u64) -> u64 {
        let workload = self.workload.as_ref().map_or(0, |workload| workload.working_bytes(decoded));
        workload.saturating_add(self.answer_bytes)
    }

    /// Returns the length of a sample in the unit of the workload, such as tokens. The batcher
    /// limits the sum of the lengths in a batch.
    pub(crate) fn length(&self, payload: &Payload) -> usize {
        self.workload.as_ref().map_or(1, |workload| workload.length(payload))
    }
}
