//! Reasons why settings are invalid.

use netdiv_contract::NAME_RULE;
use netdiv_node_common::sanitise::sanitise;

use crate::{
    ground::range::OutOfRange,
    settings::{fabric::PeersError, network::NetworkError},
};

/// Reason why settings are invalid.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The network settings are invalid.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The settings of the network to other nodes are invalid.
    #[error(transparent)]
    Peers(#[from] PeersError),
    /// `--pin` names a core that the machine does not have.
    #[error("--pin: {0}")]
    Pin(String),
    /// A number is out of its range.
    #[error(transparent)]
    Range(#[from] OutOfRange),
    /// The name of the node would contain a port that is not known yet.
    #[error("--listen with port 0 takes any free port; give the node a --name")]
    NamelessPort,
    /// `--metrics` has port 0, so no client would know the port of the metrics.
    #[error("--metrics with port 0 takes any free port, which no client would know; name a port")]
    MetricsPort,
    /// The name of the node is invalid.
    #[error("--name `{}`: {NAME_RULE}", sanitise(.0))]
    Name(String),
    /// The outputs of the engine are not tokens.
    #[error("--max-in-flight-tokens belongs to engines and models whose outputs are tokens")]
    NoTokens,
    /// The settings of the engine are invalid.
    #[error(transparent)]
    Engine(#[from] anyhow::Error),
    /// The operator's statement about the machine cannot be read.
    #[error(transparent)]
    Evidence(#[from] netdiv_machine::evidence::SupplyError),
}
