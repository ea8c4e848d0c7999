//! The two transports, gRPC and QUIC, and their security: both ends of each.
//!
//! This crate has sockets and no rules: `netdiv-contract` says what a message means, the QDL who sends which sample, and
//! the SUT node how it is answered.
//!
//! Terms: a *connection* is one TCP connection with HTTP/2 (gRPC) or one QUIC connection. A *stream* is one call on it:
//! an HTTP/2 stream or a bidirectional QUIC stream. The QDL calls each of its streams of samples a *lane*.
//!
//! - [`Connection`] (`connection.rs`): a client's connection to a node, over either transport; [`Options`] (`options.rs`)
//! - [`Wait`] (`waiting.rs`): announcing that a node is waited for
//! - [`WayOut`] (`way_out.rs`): interface, code point and congestion control of what a client sends
//! - [`discovery`]: from what an operator names, such as `rack[1-8]`, to the addresses of nodes
//! - [`send_at_once`] (`at_once.rs`): sending on the thread that has something to send
//! - [`Handler`] (`handler.rs`): a node, as both transports see it
//! - [`Connections`] (`connections.rs`): who is connected to a node, and who has a place there
//! - [`grpc`]: the four calls as gRPC; payloads are not copied
//! - [`quic`]: the same calls, each a stream of a QUIC connection
//! - [`security`]: TLS 1.3, certificates, tokens, and where plaintext is allowed

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod address;
mod at_once;
mod connection;
mod connections;
pub mod discovery;
pub mod grpc;
mod handler;
mod open_error;
mod options;
mod peer_reason;
mod polling;
pub mod quic;
pub mod security;
mod strangers;
#[cfg(test)]
#[path = "../tests/transport/mod.rs"]
mod tests;
mod waiting;
mod way_out;

pub use netdiv_node_common::words::Transport;

pub use address::socket_address;
pub use at_once::send_at_once;
pub use connection::{Connection, Replies};
pub use connections::Connections;
pub use grpc::Http2Close;
pub use handler::Handler;
pub use open_error::OpenError;
pub use options::Options;
pub use polling::busy_poll;
pub use quic::QuicPath;
pub use waiting::Wait;
pub use way_out::{CONGESTION_CONTROLS, WayOut};
