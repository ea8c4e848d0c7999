//! A node, as the transports see it.

use std::net::SocketAddr;

use bytes::Bytes;
use futures_core::Stream;
use netdiv_proto::{
    SessionHeader,
    burst::Messages,
    v1::{
        DescribeRequest, DescribeResponse, DigestsRequest, DigestsResponse, FlushRequest,
        FlushResponse,
    },
};
use tonic::Status;

/// The calls of the service `SutNode`.
pub trait Handler: Clone + Send + Sync + 'static {
    /// The chunks of a stream of replies.
    type Replies: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static;

    /// Longest request that is read, in bytes.
    fn longest_request(&self) -> usize;

    /// Says who the node is; `peer` is who asks, where the transport knows it.
    fn describe(
        &self,
        request: DescribeRequest,
        peer: Option<SocketAddr>,
    ) -> impl Future<Output = Result<DescribeResponse, Status>> + Send;

    /// Ends a series.
    fn flush(
        &self,
        request: FlushRequest,
    ) -> impl Future<Output = Result<FlushResponse, Status>> + Send;

    /// Says what a session with digests has received and sent.
    fn digests(
        &self,
        request: DigestsRequest,
    ) -> impl Future<Output = Result<DigestsResponse, Status>> + Send;

    /// Takes a stream of requests and gives the stream of their replies.
    fn infer<S>(
        &self,
        session: &SessionHeader,
        requests: Messages<S>,
    ) -> Result<Self::Replies, Status>
    where
        S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static;
}
