//! Connections of the tests' own clients.

use netdiv_transport::{Connection, Options, Transport};

/// Opens a connection over `grpc` or `quic` with the smallest window, so that a node soon blocks on
/// responses that the client does not read.
pub(crate) async fn open(address: &str, transport: &str) -> Result<Connection, String> {
    let transport = if transport == "quic" { Transport::Quic } else { Transport::Grpc };
    let options = Options { transport, window_bytes: 65_535, ..Options::default() };
    Connection::open(address, &options).await.map_err(|error| error.to_string())
}
