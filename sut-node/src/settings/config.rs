//! Resolved settings. A node publishes their serialized form: see `published.rs`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use netdiv_contract::encoding::Encoding;
use netdiv_machine::evidence::Statement;
use serde::Serialize;

use crate::{
    ground::serialized::milliseconds,
    model::batching::Batching,
    settings::{engine::EngineConfig, fabric::Peers, network::Network, token_room::TokenRoom},
};

/// Settings of a node that fit together.
#[derive(Debug, Clone, Serialize)]
pub struct Config {
    /// Settings of the network.
    #[serde(flatten)]
    pub network: Network,
    /// Number of engine instances on each device.
    pub instances: usize,
    /// Maximum number of samples in flight; `None`: a few batches for each engine.
    pub max_in_flight_samples: Option<u32>,
    /// Maximum number of payload bytes in flight.
    pub max_in_flight_bytes: u32,
    /// Maximum number of tokens in flight; `None`: no limit.
    pub max_in_flight_tokens: Option<TokenRoom>,
    /// Maximum size of a payload, in bytes.
    pub max_payload_bytes: usize,
    /// Encoding of responses.
    pub response_encoding: Encoding,
    /// Number of threads that serve connections.
    pub io_threads: usize,
    /// Cores that the I/O threads are bound to, in turn; empty: any.
    pub pin: Vec<usize>,
    /// Set if the I/O threads poll instead of sleeping.
    pub busy_poll: bool,
    /// Maximum time of an engine in a batch.
    #[serde(rename = "engine_timeout_ms", serialize_with = "milliseconds")]
    pub engine_timeout: Duration,
    /// Maximum time that a shutdown waits.
    #[serde(rename = "drain_timeout_ms", serialize_with = "milliseconds")]
    pub drain_timeout: Duration,
    /// Settings of the batcher.
    #[serde(flatten)]
    pub batching: Batching,
    /// Settings of the engine.
    pub engine: EngineConfig,
    /// Name of the node.
    #[serde(skip)]
    pub name: String,
    /// Nodes that this node may dial, to measure the network between them.
    #[serde(skip)]
    pub fabric_peers: Option<Peers>,
    /// Operator's statement about the machine.
    #[serde(skip)]
    pub evidence: Option<Statement>,
    /// Path of the file that is written once the node accepts calls.
    #[serde(skip)]
    pub ready_file: Option<PathBuf>,
    /// Address of the Prometheus endpoint.
    #[serde(skip)]
    pub metrics: Option<SocketAddr>,
}
