//! QUIC by quinn: each call is a bidirectional stream (`proto/netdiv/v1/quic.proto`).

mod chunks;
mod client;
mod endpoint;
mod server;

pub(crate) use client::Client;
pub use endpoint::{bind, default_mtu};
pub use server::{QuicServer, serve};

/// ALPN of the wire contract, version 1.
const ALPN: &[u8] = b"netdiv/1";
