//! Results of a run with digests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Digests of samples and responses at both ends.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Digests {
    /// Samples, as LoadGen issued them from the QSL and as the nodes received them (rules N7, N9,
    /// N10, N18).
    pub samples: Comparison,
    /// Responses, as the nodes sent them before encoding and as LoadGen received them (N8).
    pub responses: Comparison,
    /// Number of bytes of the issued samples, as in the QSL.
    pub bytes_issued: u64,
}

impl Digests {
    /// Returns both comparisons, each with its subject: `samples` and `responses`.
    pub fn by_name(&self) -> [(&'static str, &Comparison); 2] {
        [("samples", &self.samples), ("responses", &self.responses)]
    }
}

/// Tallies of digests at the end that sends and at the end that receives.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Number of payloads sent.
    pub sent: u64,
    /// Number of payloads received.
    pub received: u64,
    /// Number of distinct payloads.
    pub distinct: u64,
    /// Sum of the differences between both ends' counts of a payload, over all payloads.
    pub differences: u64,
    /// Descriptions of some differences.
    pub examples: Vec<String>,
    /// SHA-256 over both ends' equal tallies; absent if they differ.
    pub sha256: Option<String>,
}
