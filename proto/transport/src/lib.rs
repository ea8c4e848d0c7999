//! Both ends of netdiv's two transports, gRPC and QUIC, and their security.
//!
//! This crate transports messages and does not interpret them: `netdiv-contract` defines what a
//! message means, the QDL decides which node gets which sample, and the SUT node decides how a
//! sample is answered.
//!
//! Terms: a *connection* is one TCP connection with HTTP/2 (gRPC) or one QUIC connection. A
//! *stream* is one call on it: an HTTP/2 stream or a bidirectional QUIC stream. The QDL calls each
//! of its streams of samples a *lane*.
//!
//! - [`Connection`] (`connection.rs`): a client's connection to a node, over either transport
//! - [`Options`] (`options.rs`): options of the connection, with [`EgressOptions`]: the interface,
//!   the code point and the congestion control with which a client sends packets
//! - [`Wait`] (`waiting.rs`): a wait for a node, which is announced if it lasts
//! - [`discovery`]: converts entries that an operator writes, such as `rack[1-8]`, to addresses of
//!   nodes
//! - [`poll_inline`] (`inline_poll.rs`): sends a message at once on the thread that has it, instead
//!   of waking the connection's own thread
//! - [`Handler`] (`handler.rs`): calls of a node, which both transports make
//! - [`Connections`] (`connections.rs`): all connections to a node, and the permits that its
//!   clients hold
//! - [`grpc`]: the calls as gRPC; payloads are not copied
//! - [`quic`]: the same calls, each on its own stream of a QUIC connection
//! - [`security`]: TLS 1.3, certificates, tokens, and the limits of plaintext

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

mod address;
mod connection;
mod connections;
pub mod discovery;
pub mod grpc;
mod handler;
mod inline_poll;
mod open_error;
mod options;
mod pending;
pub mod quic;
pub mod security;
#[cfg(test)]
#[path = "../tests/transport/mod.rs"]
mod tests;
mod waiting;

pub use netdiv_node_common::words::Transport;

pub use address::socket_address;
pub use connection::{Connection, Replies};
pub use connections::Connections;
pub use grpc::Http2Close;
pub use handler::Handler;
pub use inline_poll::{busy_poll, poll_inline};
pub use open_error::OpenError;
pub use options::{CONGESTION_CONTROLS, EgressOptions, Options};
pub use quic::QuicPath;
pub use waiting::Wait;
