//! How a client connects to a node.

use std::time::Duration;

use netdiv_contract::limits;
use netdiv_node_common::words::Transport;

use crate::{
    security::{ClientTls, Token},
    way_out::WayOut,
};

/// How a client connects.
#[derive(Debug, Clone)]
pub struct Options {
    /// How messages travel.
    pub transport: Transport,
    /// How long one attempt may take.
    pub connect_timeout: Duration,
    /// Interval of keepalive pings.
    pub keepalive_interval: Duration,
    /// How long the answer to a ping may take (gRPC), or how long a connection may be silent (QUIC), before it counts as
    /// lost.
    pub keepalive_timeout: Duration,
    /// What a node may send on one stream before it is read, in bytes.
    pub window_bytes: u32,
    /// QUIC: longest UDP payload to try; `None`: `quic::default_mtu`.
    pub quic_mtu: Option<u16>,
    /// How what is sent leaves this machine.
    pub way_out: WayOut,
    /// The authority to trust. `None`: plaintext (gRPC), or encryption without authentication of the node (QUIC).
    pub tls: Option<ClientTls>,
    /// The token that nodes require.
    pub token: Option<Token>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            connect_timeout: Duration::from_secs(10),
            keepalive_interval: Duration::from_secs(1),
            // A busy node answers between two batches; a lost machine never does.
            keepalive_timeout: Duration::from_secs(3),
            window_bytes: limits::STREAM_WINDOW_BYTES,
            quic_mtu: None,
            way_out: WayOut::default(),
            tls: None,
            token: None,
        }
    }
}
