//! The resolved settings.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use netdiv_contract::encoding::Encoding;
use netdiv_evidence::Statement;

use crate::{
    model::batching::Batching,
    settings::{engine::EngineConfig, fabric::Peers, network::Network, token_room::TokenRoom},
};

/// Settings that fit together.
#[derive(Debug, Clone)]
pub struct Config {
    /// The network side.
    pub network: Network,
    /// Name of the node.
    pub name: String,
    /// What runs the model.
    pub engine: EngineConfig,
    /// Instances of the engine on each device.
    pub instances: usize,
    /// How samples become batches.
    pub batching: Batching,
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
    /// The nodes that this one may dial, to measure the network between them.
    pub fabric_peers: Option<Peers>,
    /// What the operator states about the machine.
    pub evidence: Option<Statement>,
    /// Written once the node takes calls.
    pub ready_file: Option<PathBuf>,
    /// Address of the Prometheus endpoint.
    pub metrics: Option<SocketAddr>,
    /// How long an engine may be in one batch.
    pub engine_timeout: Duration,
    /// How long a shutdown waits.
    pub drain_timeout: Duration,
}
