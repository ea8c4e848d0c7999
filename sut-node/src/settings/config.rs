//! The resolved settings. A node publishes their serialized form: see `published.rs`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use netdiv_contract::encoding::Encoding;
use netdiv_machine::evidence::Statement;
use serde::Serialize;

use crate::{
    ground::serialized::milliseconds,
    model::batching::Batching,
    settings::{engine::EngineConfig, fabric::Peers, network::Network, token_room::TokenRoom},
};

/// Settings that fit together.
#[derive(Debug, Clone, Serialize)]
pub struct Config {
    /// The network side.
    #[serde(flatten)]
    pub network: Network,
    /// Instances of the engine on each device.
    pub instances: usize,
    /// Samples taken in at most; `None`: a few batches for each engine.
    pub max_in_flight_samples: Option<u32>,
    /// Payload bytes taken in at most.
    pub max_in_flight_bytes: u32,
    /// Tokens taken in at most, where they are limited.
    pub max_in_flight_tokens: Option<TokenRoom>,
    /// Longest payload, in bytes.
    pub max_payload_bytes: usize,
    /// How responses are encoded.
    pub response_encoding: Encoding,
    /// Threads that serve connections.
    pub io_threads: usize,
    /// Cores that these threads are bound to, in turn; none: anywhere.
    pub pin: Vec<usize>,
    /// Whether these threads poll instead of sleeping.
    pub busy_poll: bool,
    /// Longest time of an engine in one batch.
    #[serde(rename = "engine_timeout_ms", serialize_with = "milliseconds")]
    pub engine_timeout: Duration,
    /// Longest time that a shutdown waits.
    #[serde(rename = "drain_timeout_ms", serialize_with = "milliseconds")]
    pub drain_timeout: Duration,
    /// Settings of the batcher.
    #[serde(flatten)]
    pub batching: Batching,
    /// The engine.
    pub engine: EngineConfig,
    /// Name of the node.
    #[serde(skip)]
    pub name: String,
    /// The nodes that this one may dial, to measure the network between them.
    #[serde(skip)]
    pub fabric_peers: Option<Peers>,
    /// What the operator states about the machine.
    #[serde(skip)]
    pub evidence: Option<Statement>,
    /// Written once the node takes calls.
    #[serde(skip)]
    pub ready_file: Option<PathBuf>,
    /// Address of the Prometheus endpoint.
    #[serde(skip)]
    pub metrics: Option<SocketAddr>,
}
