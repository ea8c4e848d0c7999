//! Resolved settings. A node publishes their serialized form: see `published.rs`.

use std::{net::SocketAddr, path::PathBuf};

use netdiv_machine::evidence::Statement;
use serde::Serialize;

use crate::{
    engine::{list::EngineConfig, settings::NodeSettings},
    settings::{fabric::Peers, network::Network},
};

/// Settings of a node, after they were checked and the defaults filled in.
#[derive(Debug, Clone, Serialize)]
pub struct Config {
    /// Settings of the network on which clients connect.
    #[serde(flatten)]
    pub network: Network,
    /// Settings that concern samples on their way through the engines.
    #[serde(flatten)]
    pub node: NodeSettings,
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
