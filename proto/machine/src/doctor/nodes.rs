//! Nodes that were asked: their identity, and their answers to one sample.

use schemars::JsonSchema;
use serde::Serialize;

/// A sample that was sent to every node.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SentSample {
    /// Name of the data set.
    pub dataset: String,
    /// Tensors of a sample, where it has any.
    pub holds: Option<String>,
    /// Number of the sample.
    pub index: usize,
    /// Its length as it was encoded, in bytes.
    pub bytes: usize,
}

/// A node, as it was asked over the network.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct AskedNode {
    /// Its address, as the settings name it.
    pub address: String,
    /// Its name; like all that follow `null` where it did not answer.
    pub node: Option<String>,
    /// Version of its program.
    pub version: Option<String>,
    /// Name of its engine.
    pub engine: Option<String>,
    /// Name of its model.
    pub model: Option<String>,
    /// SHA-256 of the model, in hex.
    pub model_sha256: Option<String>,
    /// Tensors that it takes.
    pub takes: Option<String>,
    /// Round trip of a call, in nanoseconds.
    pub round_trip_ns: Option<u64>,
    /// Answers to the sample, first and again.
    pub answers: Vec<SampleAnswer>,
    /// True if its answer differs from that of most nodes.
    pub differs: bool,
    /// Reason for no answer, or none that counts.
    pub failure: Option<String>,
    /// True if the node did not answer, or its connection was lost.
    pub lost: bool,
}

/// An answer to the sample.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SampleAnswer {
    /// Time until the answer, in nanoseconds.
    pub latency_ns: u64,
    /// Time until the first token, where the answer is made of tokens, in nanoseconds.
    pub first_token_ns: Option<u64>,
    /// Length in bytes.
    pub bytes: usize,
    /// SHA-256 in hex.
    pub sha256: String,
    /// Its beginning: a label (4 bytes), token ids, or bytes in hex.
    pub beginning: String,
}

impl AskedNode {
    /// Adds the reason for which it gave no answer.
    pub fn failed(mut self, why: impl std::fmt::Display, lost: bool) -> Self {
        self.failure = Some(why.to_string());
        self.lost = lost;
        self
    }
}
