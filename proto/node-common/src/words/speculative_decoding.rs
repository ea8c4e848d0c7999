//! Speculative decoding, as a node declares it and as the rules allow it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A draft of further tokens, which the model accepts or not: the table `speculative_decoding` in the file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpeculativeDecoding {
    /// The head that drafts, by its name on Hugging Face.
    pub head: String,
    /// Tokens that it drafts at a time.
    pub steps: u32,
    /// Candidates for each of them.
    pub top_k: u32,
}

impl fmt::Display for SpeculativeDecoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { head, steps, top_k } = self;
        write!(f, "the head {head}, {steps} steps and a top-k of {top_k}")
    }
}
