//! Observation of calls: counts each call and measures the time until its answer begins. For gRPC,
//! a tower layer around all services does this, and also logs the calls. For QUIC, a handler around
//! the node does it.

use std::{
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

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
use netdiv_transport::Handler;
use tonic::Status;
use tower::{Layer, Service};
use tracing::debug;

use crate::ground::metrics;

/// Methods with their own metrics. A path that a client invents must not become a label.
const DESCRIBE: &str = "/netdiv.v1.SutNode/Describe";
const INFER: &str = "/netdiv.v1.SutNode/Infer";
const FLUSH: &str = "/netdiv.v1.SutNode/Flush";
const DIGESTS: &str = "/netdiv.v1.SutNode/Digests";
const MEASURE: &str = "/netdiv.v1.SutNode/Measure";
const HEALTH: &str = "/grpc.health.v1.Health/Check";

/// Wraps a service in [`ObservedService`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObserveLayer;

#[derive(Debug, Clone)]
pub(crate) struct ObservedService<S>(S);

impl<S> Layer<S> for ObserveLayer {
    type Service = ObservedService<S>;

    fn layer(&self, inner: S) -> ObservedService<S> {
        ObservedService(inner)
    }
}

impl<S, B> Service<http::Request<B>> for ObservedService<S>
where
    S: Service<http::Request<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let path = request.uri().path();
        let method = [DESCRIBE, INFER, FLUSH, DIGESTS, MEASURE, HEALTH]
            .into_iter()
            .find(|method| *method == path)
            .unwrap_or("other");
        let started = Instant::now();
        let call = self.0.call(request);
        Box::pin(async move {
            let answer = call.await;
            debug!(method, ok = answer.is_ok(), "call answered");
            metrics::rpc(method, started.elapsed());
            answer
        })
    }
}

/// Handler of QUIC calls: passes each call to the wrapped handler and observes it.
#[derive(Debug, Clone)]
pub(crate) struct ObservedHandler<H>(pub(crate) H);

impl<H: Handler> Handler for ObservedHandler<H> {
    type Replies = H::Replies;

    fn longest_request(&self) -> usize {
        self.0.longest_request()
    }

    async fn describe(
        &self,
        request: DescribeRequest,
        peer: Option<SocketAddr>,
    ) -> Result<DescribeResponse, Status> {
        observe(DESCRIBE, self.0.describe(request, peer)).await
    }

    async fn flush(&self, request: FlushRequest) -> Result<FlushResponse, Status> {
        observe(FLUSH, self.0.flush(request)).await
    }

    async fn digests(&self, request: DigestsRequest) -> Result<DigestsResponse, Status> {
        observe(DIGESTS, self.0.digests(request)).await
    }

    async fn measure(&self, request: MeasureRequest) -> Result<MeasureResponse, Status> {
        observe(MEASURE, self.0.measure(request)).await
    }

    fn infer<S>(
        &self,
        session: &SessionHeader,
        requests: Messages<S>,
    ) -> Result<Self::Replies, Status>
    where
        S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static,
    {
        let started = Instant::now();
        let replies = self.0.infer(session, requests);
        metrics::rpc(INFER, started.elapsed());
        replies
    }
}

/// Waits for the answer to a call, and measures the time.
async fn observe<T>(method: &'static str, call: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let answer = call.await;
    metrics::rpc(method, started.elapsed());
    answer
}
