//! Calls of the tests' own clients to a node.

use std::time::Duration;

use e2e::process::transport;
use netdiv_transport::{Connection, Options, Transport};

pub const TRANSPORTS: [Transport; 2] = [Transport::Grpc, Transport::Quic];

/// Returns the options of a client over the transport under test.
pub fn options() -> Options {
    let transport = if transport() == "quic" { Transport::Quic } else { Transport::Grpc };
    Options { transport, ..Options::default() }
}

pub async fn open(address: &str, transport: Transport) -> Connection {
    let options = Options { transport, ..Options::default() };
    Connection::open(address, &options).await.expect("connects")
}

/// Awaits a call. A call that hangs fails the test.
pub async fn soon<T>(call: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), call).await.expect("an answer in time")
}
