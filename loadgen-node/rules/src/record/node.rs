//! The record of a SUT node.

use std::collections::BTreeMap;

use netdiv_contract::encoding::Encoding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A SUT node in a record.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Least of some round trips to it before the run, in nanoseconds.
    pub round_trip_ns: u64,
    /// Its engine.
    pub engine: String,
    /// Its model.
    pub model: String,
    /// SHA-256 of the model file, followed by its external data, in hex; empty without a model.
    pub model_sha256: String,
    /// SHA-256 of its configuration, in hex.
    pub config_sha256: String,
    /// Version of its program.
    pub software_version: String,
    /// Samples sent to it.
    pub sent: u64,
    /// Samples that it says it has received, at the last flush.
    pub acknowledged: u64,
    /// Samples that it answered.
    pub answered: u64,
    /// The reason for its loss, if the run continued without it (`--on-node-loss redispatch`).
    #[serde(default)]
    pub lost: Option<String>,
    /// Samples that were given to it and then, as it was lost, to other nodes.
    #[serde(default)]
    pub redispatched: u64,
    /// Replies that belonged to no sample in flight, and were dropped.
    pub unmatched_replies: u64,
    /// Payload bytes sent to it, as encoded.
    pub bytes_sent: u64,
    /// Response bytes received from it, as encoded.
    pub bytes_received: u64,
    /// Encodings of its responses.
    #[serde(default)]
    pub response_encodings: Vec<Encoding>,
    /// Tokens of prompts that its serving engine did not compute, because it had them from other prompts; 0 where it does not say.
    #[serde(default)]
    pub cached_prompt_tokens: u64,
    /// Number of batches by their size in samples.
    pub batches: BTreeMap<u32, u64>,
    /// From IssueQuery to completion, in nanoseconds.
    pub latency_ns: Distribution,
    /// The stages of that time.
    pub stages_ns: StageTimes,
    /// Numbers and times of its tokens, if LoadGen counts tokens.
    #[serde(default)]
    pub tokens: Option<Tokens>,
}

impl Node {
    /// Returns the times of its samples, each with its name.
    pub(crate) fn times(&self) -> [(&'static str, &Distribution); 5] {
        let stages = &self.stages_ns;
        [
            ("latency_ns", &self.latency_ns),
            ("qdl_queue", &stages.qdl_queue),
            ("network", &stages.network),
            ("sut_queue", &stages.sut_queue),
            ("compute", &stages.compute),
        ]
    }
}

/// The tokens of a node's answers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// All of them.
    pub total: u64,
    /// Answers of one token: there is no time for each further one.
    pub one_token_answers: u64,
    /// Answers that the node's limit of output tokens cut off (finish reason `length`): as many tokens as it allows, and the last
    /// one is no end-of-text id. Absent if the node does not announce both.
    #[serde(default)]
    pub finished_by_length: Option<u64>,
    /// Answers whose first and further tokens came within LoadGen's bounds (goodput); Server only.
    pub within_bounds: Option<u64>,
    /// Tokens of an answer.
    pub per_answer: Distribution,
    /// From IssueQuery to the first token, in nanoseconds (TTFT without LoadGen's own delay).
    pub first_ns: Distribution,
    /// For each further token, in nanoseconds (TPOT): the time from the first token to the whole answer, shared out.
    pub further_ns: Distribution,
    /// At the node, from when the engine took the sample until its first token, in nanoseconds.
    pub prefill_ns: Distribution,
    /// At the node, from the first token to the end of the answer, in nanoseconds.
    pub decode_ns: Distribution,
}

/// The time of samples by stage, in nanoseconds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageTimes {
    /// From IssueQuery until the sample was handed to the transport.
    pub qdl_queue: Distribution,
    /// On the way to the node and back: the round trip without the time at the node.
    pub network: Distribution,
    /// At the node, waiting for a batch.
    pub sut_queue: Distribution,
    /// At the node, in the engine.
    pub compute: Distribution,
}

/// A distribution of times, in nanoseconds, or of numbers of tokens; zeros when there was no sample.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
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

impl Distribution {
    /// Returns true if its percentiles rise to its maximum, and its mean is below that.
    pub(crate) fn is_ordered(&self) -> bool {
        let Self { mean, p50, p90, p99, p99_9, max } = self;
        [p50, p90, p99, p99_9, max].is_sorted() && (0.0..=*max as f64).contains(mean)
    }
}
