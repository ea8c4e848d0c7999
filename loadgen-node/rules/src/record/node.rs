//! The record of a SUT node.

use std::collections::BTreeMap;

use netdiv_contract::{encoding::Encoding, v1::Decoding};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SUT node in a record.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Name of the node.
    pub name: String,
    /// Address of the node.
    pub address: String,
    /// Minimum of some round trips to the node before the run, in nanoseconds.
    pub round_trip_ns: u64,
    /// Engine of the node.
    pub engine: String,
    /// Model of the node.
    pub model: String,
    /// SHA-256 of the model file, followed by its external data, in hex; empty without a model.
    pub model_sha256: String,
    /// SHA-256 of the node's configuration, in hex.
    pub config_sha256: String,
    /// Version of the node's program.
    pub software_version: String,
    /// Choice of the tokens of an output, as the node announced it.
    #[serde(default)]
    pub decoding: Decoding,
    /// Number from which the node derived the seed of each sample (`--sampling-seed`), if it had
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling_seed: Option<u64>,
    /// Samples sent to the node.
    pub sent: u64,
    /// Samples that the node reported as received, at the last flush.
    pub acknowledged: u64,
    /// Samples that the node answered.
    pub answered: u64,
    /// Reason for the node's loss, if the run continued without it
    /// (`--on-node-loss redispatch`).
    #[serde(default)]
    pub lost: Option<String>,
    /// Samples that were assigned to this node and, after its loss, to other nodes.
    #[serde(default)]
    pub redispatched: u64,
    /// Replies that matched no sample in flight, and were dropped.
    pub unmatched_replies: u64,
    /// Responses with impossible figures: times that are longer than the sample's round trip, or
    /// more reused tokens than its prompt has. The record has the sample's own instead.
    #[serde(default)]
    pub impossible_responses: u64,
    /// Payload bytes sent to the node, as encoded.
    pub bytes_sent: u64,
    /// Response bytes received from the node, as encoded.
    pub bytes_received: u64,
    /// Encodings of the node's responses.
    #[serde(default)]
    pub response_encodings: Vec<Encoding>,
    /// Prompt tokens that the serving engine did not compute, because it reused them from other
    /// prompts; 0 if unknown.
    #[serde(default)]
    pub cached_prompt_tokens: u64,
    /// Number of requests to each server behind the node during the test, by its address.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, u64>,
    /// Number of batches by their size in samples.
    pub batches: BTreeMap<u32, u64>,
    /// Answers later than LoadGen's bound for the latency, or than one of its bounds for tokens, by
    /// times that begin at IssueQuery; Server in performance mode only.
    #[serde(default)]
    pub late: Option<u64>,
    /// Time from the node's last answer to the last answer of all nodes, in seconds; performance
    /// mode only.
    #[serde(default)]
    pub idle_at_end_seconds: Option<f64>,
    /// Time from IssueQuery to completion, in nanoseconds.
    pub latency_ns: Distribution,
    /// Stages of the latency.
    pub stages_ns: StageTimes,
    /// Counts and times of tokens, if LoadGen counts tokens.
    #[serde(default)]
    pub tokens: Option<Tokens>,
}

/// Tokens of a node's answers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// Number of tokens in all answers.
    pub total: u64,
    /// Number of answers of one token, which have no time per further token.
    pub one_token_answers: u64,
    /// Number of answers that the node's limit of output tokens truncated (finish reason `length`):
    /// they have the maximum number of tokens, and the last one is not an end-of-text id. Absent if
    /// the node does not announce both.
    #[serde(default)]
    pub finished_by_length: Option<u64>,
    /// Number of answers whose first and further tokens met LoadGen's bounds (goodput); Server
    /// only.
    pub within_bounds: Option<u64>,
    /// Number of tokens in an answer.
    pub per_answer: Distribution,
    /// Time from IssueQuery to the first token, in nanoseconds (TTFT without LoadGen's own delay).
    pub first_ns: Distribution,
    /// Time per further token, in nanoseconds (TPOT): the time from the first token to the complete
    /// answer, divided by the number of further tokens.
    pub further_ns: Distribution,
    /// Time at the node, from the engine's receipt of the sample to its first token, in
    /// nanoseconds.
    pub prefill_ns: Distribution,
    /// Time at the node, from the first token to the end of the answer, in nanoseconds.
    pub decode_ns: Distribution,
}

/// Time of samples by stage, in nanoseconds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageTimes {
    /// Time from IssueQuery until the transport received the sample.
    pub qdl_queue: Distribution,
    /// Time on the network to the node and back: the round trip without the time at the node.
    pub network: Distribution,
    /// Time at the node, waiting for a batch.
    pub sut_queue: Distribution,
    /// Time at the node, in the engine.
    pub compute: Distribution,
}

/// Distribution of times, in nanoseconds, or of numbers of tokens; all zeros without samples.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p99_9: u64,
    /// Maximum.
    pub max: u64,
}
