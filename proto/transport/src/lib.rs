//! The two transports, gRPC and QUIC, and their security: both ends of each.
//!
//! Here are sockets and no rules: what a message means is said in `netdiv-proto`, who sends which sample in the
//! QDL, what becomes of it in the SUT node.
//!
//! - [`Connection`] (`connection.rs`): a client's connection to a node, over either transport
//! - [`Handler`] (`handler.rs`): a node, as both transports see it
//! - [`Connections`] (`connections.rs`): how many connections a node takes
//! - [`grpc`]: the three calls as gRPC, payloads passed through without a copy
//! - [`quic`]: the same calls, each a stream of a QUIC connection
//! - [`security`]: TLS 1.3, certificates, tokens, and where plaintext is allowed

mod connection;
mod connections;
pub mod grpc;
mod handler;
pub mod quic;
mod refusals;
pub mod security;

pub use connection::{Connection, OpenError, Options, Replies, Transport, check_address};
pub use connections::Connections;
pub use handler::Handler;

/// Keeps the runtime's thread from sleeping: with nothing else to do, it asks the sockets for news again and again. A
/// thread that sleeps takes some ten microseconds to wake; one that polls takes a whole core.
pub async fn busy_poll() -> std::convert::Infallible {
    loop {
        tokio::task::yield_now().await;
    }
}
