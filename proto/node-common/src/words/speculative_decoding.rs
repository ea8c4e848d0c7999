//! Configuration of speculative decoding. A node's model file declares it, and the table of
//! benchmarks states the configurations that the rules allow.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Speculative decoding of a model: the table `speculative_decoding` in the model's file. A draft
/// proposes further tokens, which the model accepts or rejects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpeculativeDecoding {
    /// Name of the draft head on Hugging Face.
    pub head: String,
    /// Number of tokens that the head drafts at a time.
    pub steps: u32,
    /// Number of candidates for each drafted token.
    pub top_k: u32,
}

impl fmt::Display for SpeculativeDecoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { head, steps, top_k } = self;
        write!(f, "the head {head}, {steps} steps and a top-k of {top_k}")
    }
}
