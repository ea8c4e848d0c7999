//! QUIC with quinn: each call is a bidirectional stream (`netdiv/v1/quic.proto`).

mod calls;
mod chunks;
mod client;
mod ending;
mod endpoint;
mod server;

pub(crate) use client::QuicClient;
pub use client::QuicPath;
pub use endpoint::{SOCKET_BUFFER_BYTES, bind, default_mtu};
pub use server::{QuicServer, serve};
