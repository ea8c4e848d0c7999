//! Interface through which the transports pass calls to a node.

use std::net::SocketAddr;

use bytes::Bytes;
use futures_core::Stream;
use netdiv_contract::{
    SessionHeader,
    burst::Messages,
    v1::{
        DescribeRequest, DescribeResponse, DigestsRequest, DigestsResponse, FlushRequest,
        FlushResponse, MeasureRequest, MeasureResponse,
    },
};
use tonic::Status;

/// Node that answers the calls of the service `SutNode`, one method for each. Both transports call
/// these methods.
pub trait Handler: Clone + Send + Sync + 'static {
    /// Stream of responses, as encoded chunks.
    type Replies: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static;

    /// Returns the length of the longest request that the node reads, in bytes.
    fn longest_request(&self) -> usize;

    /// Describes the node; `peer` is the caller's address, if the transport knows it.
    fn describe(
        &self,
        request: DescribeRequest,
        peer: Option<SocketAddr>,
    ) -> impl Future<Output = Result<DescribeResponse, Status>> + Send;

    /// Ends a series of samples: returns the number of samples that the node has received in the
    /// session.
    fn flush(
        &self,
        request: FlushRequest,
    ) -> impl Future<Output = Result<FlushResponse, Status>> + Send;

    /// Returns a part of a tally, which counts the digests of the payloads in a session.
    fn digests(
        &self,
        request: DigestsRequest,
    ) -> impl Future<Output = Result<DigestsResponse, Status>> + Send;

    /// Measures the network to another node.
    fn measure(
        &self,
        request: MeasureRequest,
    ) -> impl Future<Output = Result<MeasureResponse, Status>> + Send;

    /// Accepts a stream of requests, and returns the stream of their responses.
    fn infer<S>(
        &self,
        session: &SessionHeader,
        requests: Messages<S>,
    ) -> Result<Self::Replies, Status>
    where
        S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static;
}
