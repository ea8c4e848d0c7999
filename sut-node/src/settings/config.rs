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

/// Settings of a node, after they were checked and the defaults filled in.
#[derive(Debug, Clone, Serialize)]
pub struct Config {
    /// Settings of the network on which clients connect.
    #[serde(flatten)]
    pub network: Network,
    /// Number of engine instances on each device.
    pub instances: usize,
    /// Maximum number of samples in flight; `None`: four batches for each engine instance.
    pub max_in_flight_samples: Option<u32>,
    /// Maximum number of payload bytes in flight.
    pub max_in_flight_bytes: u32,
    /// Maximum number of tokens in flight; `None`: no limit.
    pub max_in_flight_tokens: Option<TokenRoom>,
    /// Maximum size of a sample's decoded payload, in bytes.
    pub max_payload_bytes: usize,
    /// Encoding of responses.
    pub response_encoding: Encoding,
    /// Number of threads that serve connections.
    pub io_threads: usize,
    /// Cores that the I/O threads are bound to, in turn; empty: any.
    pub pin: Vec<usize>,
    /// Set if the I/O threads poll instead of sleeping.
    pub busy_poll: bool,
    /// Maximum time that an engine spends on a batch before the node reports that it is unwell.
    #[serde(rename = "engine_timeout_ms", serialize_with = "milliseconds")]
    pub engine_timeout: Duration,
    /// Maximum time that a shutdown waits for samples in flight.
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
    /// Facts about the machine that the operator states in a file, because the node cannot read
    /// them.
    #[serde(skip)]
    pub evidence: Option<Statement>,
    /// Path of the file that is written once the node accepts calls.
    #[serde(skip)]
    pub ready_file: Option<PathBuf>,
    /// Address on which the node serves its metrics over HTTP, for Prometheus; `None`: the node
    /// does not serve them.
    #[serde(skip)]
    pub metrics: Option<SocketAddr>,
}
