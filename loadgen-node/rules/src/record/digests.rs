//! Results of a run with digests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Digests of samples and responses at both ends.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Digests {
    /// Samples: issued by LoadGen as the QSL holds them, and received by the nodes (rules N7, N9, N10, N18).
    pub samples: Comparison,
    /// Responses: sent by the nodes before their encoding, and handed to LoadGen (N8).
    pub responses: Comparison,
    /// Bytes of the issued samples, as the QSL holds them.
    pub bytes_issued: u64,
}

impl Digests {
    /// Both comparisons with what they are about.
    pub fn by_name(&self) -> [(&'static str, &Comparison); 2] {
        [("samples", &self.samples), ("responses", &self.responses)]
    }
}

/// Two tallies of digests, at the end that sends and at the end that receives.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Payloads that were sent.
    pub sent: u64,
    /// Payloads that were received.
    pub received: u64,
    /// Different ones.
    pub distinct: u64,
    /// Payloads that one end has seen more often than the other: how often they differ, all together.
    pub differences: u64,
    /// Some of them, in words.
    pub examples: Vec<String>,
    /// SHA-256 over both ends' equal tallies; absent when they differ.
    pub sha256: Option<String>,
}
