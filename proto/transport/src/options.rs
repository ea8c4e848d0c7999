//! Options of a client's connection to a node.

use std::time::Duration;

use netdiv_contract::limits;
use netdiv_node_common::words::Transport;

use crate::{
    egress::EgressOptions,
    security::{ClientTls, Token},
};

/// Options of a client's connection.
#[derive(Debug, Clone)]
pub struct Options {
    /// Transport of the connection: gRPC or QUIC.
    pub transport: Transport,
    /// Maximum time of one attempt to connect.
    pub connect_timeout: Duration,
    /// Interval at which the client sends keepalive pings.
    pub keepalive_interval: Duration,
    /// Maximum time for the answer to a ping (gRPC), or of silence on a connection (QUIC), before
    /// the connection counts as lost.
    pub keepalive_timeout: Duration,
    /// Maximum number of bytes that a node may send on one stream before the client reads them.
    pub window_bytes: u32,
    /// Longest UDP payload to try, in bytes, QUIC only; `None`: `quic::default_mtu`.
    pub quic_mtu: Option<u16>,
    /// Interface, code point and congestion control with which the client sends packets.
    pub egress: EgressOptions,
    /// TLS settings: the authority that the client trusts, and its own certificate. `None`:
    /// plaintext (gRPC), or encryption without authentication of the node (QUIC).
    pub tls: Option<ClientTls>,
    /// Token that the client presents in each call; `None`: calls have no token.
    pub token: Option<Token>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            connect_timeout: Duration::from_secs(10),
            keepalive_interval: Duration::from_secs(1),
            // A busy node answers between two batches; a lost machine never answers.
            keepalive_timeout: Duration::from_secs(3),
            window_bytes: limits::STREAM_WINDOW_BYTES,
            quic_mtu: None,
            egress: EgressOptions::default(),
            tls: None,
            token: None,
        }
    }
}
