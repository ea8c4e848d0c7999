//! Transports between the LoadGen node and SUT nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// Transport between the LoadGen node and a SUT node.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    Display,
    IntoStaticStr,
)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Transport {
    /// gRPC: HTTP/2 over TCP
    #[default]
    Grpc,
    /// QUIC: streams over UDP
    Quic,
}

impl Transport {
    /// Returns the name on the command line and in `result.json`.
    pub fn word(self) -> &'static str {
        self.into()
    }
}
