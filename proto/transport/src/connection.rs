//! A client's connection to a node, over either transport.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_contract::{
    SessionHeader,
    burst::Messages,
    limits,
    v1::{
        DescribeRequest, DescribeResponse, DigestsRequest, DigestsResponse, FlushRequest,
        FlushResponse, MeasureRequest, MeasureResponse,
    },
};
use netdiv_node_common::words::Transport;
use tonic::Status;

use crate::{
    address::Address,
    grpc,
    open_error::OpenError,
    options::Options,
    quic::{self, QuicPath},
};

/// Connection to a node. Clones share the same connection.
#[derive(Debug, Clone)]
pub struct Connection(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Grpc(grpc::GrpcClient),
    Quic(quic::QuicClient),
}

impl Connection {
    /// Opens a connection to a node, with a single attempt for each of its addresses.
    pub async fn open(address: &str, options: &Options) -> Result<Self, OpenError> {
        let address = Address::parse(address)?;
        Ok(Self(match options.transport {
            Transport::Grpc => Kind::Grpc(grpc::GrpcClient::open(&address, options).await?),
            Transport::Quic => Kind::Quic(quic::QuicClient::open(&address, options).await?),
        }))
    }

    /// Asks the node for its description.
    pub async fn describe(&self, request: DescribeRequest) -> Result<DescribeResponse, Status> {
        match &self.0 {
            Kind::Grpc(client) => client.describe(request).await,
            Kind::Quic(client) => client.describe(request).await,
        }
    }

    /// Returns the statistics that QUIC keeps of the connection's network path; `None` over TCP,
    /// where the kernel keeps them.
    pub fn quic_path(&self) -> Option<QuicPath> {
        match &self.0 {
            Kind::Grpc(_) => None,
            Kind::Quic(client) => Some(client.path()),
        }
    }

    /// Closes the connection, so that the node does not have to detect the end.
    pub async fn close(&self) {
        match &self.0 {
            // HTTP/2 closes when the last handle is dropped.
            Kind::Grpc(_) => {}
            Kind::Quic(client) => client.close().await,
        }
    }

    /// Reports the end of a series of samples to the node, and returns the number of samples that
    /// it received.
    pub async fn flush(&self, request: FlushRequest) -> Result<FlushResponse, Status> {
        match &self.0 {
            Kind::Grpc(client) => client.flush(request).await,
            Kind::Quic(client) => client.flush(request).await,
        }
    }

    /// Asks for a part of a tally, which counts the digests of the payloads in a session.
    pub async fn digests(&self, request: DigestsRequest) -> Result<DigestsResponse, Status> {
        match &self.0 {
            Kind::Grpc(client) => client.digests(request).await,
            Kind::Quic(client) => client.digests(request).await,
        }
    }

    /// Asks the node to measure the network to another node.
    pub async fn measure(&self, request: MeasureRequest) -> Result<MeasureResponse, Status> {
        match &self.0 {
            Kind::Grpc(client) => client.measure(request).await,
            Kind::Quic(client) => client.measure(request).await,
        }
    }

    /// Opens a stream of samples. `requests` yields the encoded requests as chunks. Returns the
    /// responses as messages.
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

/// Stream of a node's responses, as encoded chunks.
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
