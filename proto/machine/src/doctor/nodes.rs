//! Nodes that were asked: their identity, and their responses to one sample.

use schemars::JsonSchema;
use serde::Serialize;

/// Sample that was sent to every node.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SentSample {
    /// Name of the data set.
    pub dataset: String,
    /// Tensors of a sample, if it has any.
    pub holds: Option<String>,
    /// Index of the sample.
    pub index: usize,
    /// Length of the encoded sample, in bytes.
    pub bytes: usize,
}

/// Node that was asked over the network.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct AskedNode {
    /// Address of the node, as in the settings.
    pub address: String,
    /// Name of the node; `null`, like the fields below, if it did not reply.
    pub node: Option<String>,
    /// Version of the node's program.
    pub version: Option<String>,
    /// Name of the node's engine.
    pub engine: Option<String>,
    /// Name of the node's model.
    pub model: Option<String>,
    /// SHA-256 of the model, in hex.
    pub model_sha256: Option<String>,
    /// Tensors that the node expects.
    pub takes: Option<String>,
    /// Round trip of a call, in nanoseconds.
    pub round_trip_ns: Option<u64>,
    /// Responses to the sample: the first, and a repetition.
    pub answers: Vec<SampleAnswer>,
    /// True if the response differs from that of most nodes.
    pub differs: bool,
    /// Reason for a missing or invalid response.
    pub failure: Option<String>,
    /// True if the node did not reply, or its connection was lost.
    pub lost: bool,
}

/// Response to the sample.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SampleAnswer {
    /// Time until the response, in nanoseconds.
    pub latency_ns: u64,
    /// Time until the first token, if the response consists of tokens, in nanoseconds.
    pub first_token_ns: Option<u64>,
    /// Length in bytes.
    pub bytes: usize,
    /// SHA-256 in hex.
    pub sha256: String,
    /// Beginning of the response: a label (4 bytes), token ids, or bytes in hex.
    pub beginning: String,
}

impl AskedNode {
    /// Adds the reason for a missing or invalid response. `lost` is true if the node did not reply,
    /// or its connection was lost.
    pub fn failed(mut self, why: impl std::fmt::Display, lost: bool) -> Self {
        self.failure = Some(why.to_string());
        self.lost = lost;
        self
    }
}
