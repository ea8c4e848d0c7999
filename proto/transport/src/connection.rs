//! A client's connection to a node, over either transport.

use std::{
    error::Error,
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_proto::{
    SessionHeader,
    burst::Messages,
    limits,
    v1::{
        DescribeRequest, DescribeResponse, DigestsRequest, DigestsResponse, FlushRequest,
        FlushResponse,
    },
};
use tonic::Status;

use crate::{
    grpc, quic,
    security::{ClientTls, Token},
};

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// gRPC: HTTP/2 over TCP.
    #[default]
    Grpc,
    /// QUIC: streams over UDP.
    Quic,
}

/// How a client connects.
#[derive(Debug, Clone)]
pub struct Options {
    /// How messages travel.
    pub transport: Transport,
    /// How long one attempt may take.
    pub connect_timeout: Duration,
    /// How often a connection is asked whether it lives.
    pub keepalive_interval: Duration,
    /// How long the answer to that may take (gRPC), or how long a connection may be silent (QUIC), before it counts as
    /// lost.
    pub keepalive_timeout: Duration,
    /// What a node may send on one stream before it is read, in bytes.
    pub window_bytes: u32,
    /// QUIC: longest UDP payload to try; `None`: [`quic::default_mtu`].
    pub quic_mtu: Option<u16>,
    /// Whom to trust. `None`: plaintext (gRPC), or encryption without proof of who the node is (QUIC).
    pub tls: Option<ClientTls>,
    /// The token that nodes ask for.
    pub token: Option<Token>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            connect_timeout: Duration::from_secs(10),
            keepalive_interval: Duration::from_secs(1),
            // A busy node answers between two batches; a machine that is gone never does.
            keepalive_timeout: Duration::from_secs(3),
            window_bytes: limits::STREAM_WINDOW_BYTES,
            quic_mtu: None,
            tls: None,
            token: None,
        }
    }
}

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Not an address.
    #[error("`{address}` is not an address of the form HOST:PORT: {why}")]
    BadAddress {
        /// The text.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody answers there, or not yet.
    #[error("no node answers at {address}: {why}")]
    Unreachable {
        /// The address.
        address: String,
        /// What the transport says.
        why: String,
    },
    /// Somebody answers, and one does not trust the other.
    #[error("{address} and this program do not trust each other: {why}")]
    Untrusted {
        /// The address.
        address: String,
        /// What TLS says.
        why: String,
    },
    /// No socket could be made.
    #[error("cannot make a socket: {0}")]
    Local(String),
}

/// Host and port, as the user wrote them.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self, OpenError> {
        let bad = |why: &str| OpenError::BadAddress { address: text.into(), why: why.into() };
        if text.contains('/') {
            return Err(bad("give host and port, without a scheme or a path"));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(|| bad("the port is missing"))?;
        let port = port.parse().map_err(|_| bad("the port is no number from 0 to 65535"))?;
        if host.is_empty() {
            return Err(bad("the host is missing"));
        }
        Ok(Self { host: host.into(), port })
    }

    /// The host without the brackets that an IPv6 address has in front of a port.
    pub(crate) fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Checks that a text is an address, `HOST:PORT`.
pub fn check_address(address: &str) -> Result<(), OpenError> {
    Address::parse(address).map(drop)
}

/// A connection to a node. Clones are the same connection.
#[derive(Debug, Clone)]
pub struct Connection(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Grpc(grpc::Client),
    Quic(quic::Client),
}

impl Connection {
    /// Opens a connection, once.
    pub async fn open(address: &str, options: &Options) -> Result<Self, OpenError> {
        let address = Address::parse(address)?;
        Ok(Self(match options.transport {
            Transport::Grpc => Kind::Grpc(grpc::Client::open(&address, options).await?),
            Transport::Quic => Kind::Quic(quic::Client::open(&address, options).await?),
        }))
    }

    /// Asks the node who it is.
    pub async fn describe(&self, request: DescribeRequest) -> Result<DescribeResponse, Status> {
        match &self.0 {
            Kind::Grpc(client) => client.describe(request).await,
            Kind::Quic(client) => client.describe(request).await,
        }
    }

    /// Ends the connection in order, so that the node need not find out by itself.
    pub async fn close(&self) {
        match &self.0 {
            // HTTP/2 does so when the last handle is dropped.
            Kind::Grpc(_) => {}
            Kind::Quic(client) => client.close().await,
        }
    }

    /// Ends a series.
    pub async fn flush(&self, request: FlushRequest) -> Result<FlushResponse, Status> {
        match &self.0 {
            Kind::Grpc(client) => client.flush(request).await,
            Kind::Quic(client) => client.flush(request).await,
        }
    }

    /// Asks what a session with digests has received and sent.
    pub async fn digests(&self, request: DigestsRequest) -> Result<DigestsResponse, Status> {
        match &self.0 {
            Kind::Grpc(client) => client.digests(request).await,
            Kind::Quic(client) => client.digests(request).await,
        }
    }

    /// Opens a stream of requests, given as chunks, and gives the stream of their replies.
    pub async fn infer(
        &self,
        session: &SessionHeader,
        requests: impl Stream<Item = Bytes> + Send + Unpin + 'static,
    ) -> Result<Messages<Replies>, Status> {
        let replies = Replies(match &self.0 {
            Kind::Grpc(client) => Box::pin(client.infer(session, requests).await?),
            Kind::Quic(client) => Box::pin(client.infer(session, requests).await?),
        });
        Ok(Messages::new(replies, limits::MAX_MESSAGE_BYTES))
    }
}

/// The chunks of a stream of replies.
pub struct Replies(Pin<Box<dyn Stream<Item = Result<Bytes, Status>> + Send>>);

impl fmt::Debug for Replies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Replies")
    }
}

impl Stream for Replies {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

/// An error and its causes, without repeating what a cause already says.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let deeper = error.to_string();
        if !text.contains(&deeper) {
            text = format!("{text}: {deeper}");
        }
        cause = error.source();
    }
    text
}
