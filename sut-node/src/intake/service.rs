//! The node's service, for every transport.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_contract::{
    SessionHeader,
    burst::Messages,
    limits::MAX_HEADER_BYTES,
    v1::{
        DescribeRequest, DescribeResponse, DigestsRequest, DigestsResponse, FlushRequest,
        FlushResponse, Machine, MeasureRequest, MeasureResponse, Route, ServerRequests,
    },
};
use netdiv_node_common::resources::processor::ProcessorTimes;
use netdiv_transport::Handler;
use tonic::Status;

use crate::{
    ground::condition::Condition,
    intake::{node_state::NodeState, reading::read_stream},
    model::identity::ServerCount,
    sample::replies::Replies,
};

/// Maximum length of a session name, in bytes.
const MAX_SESSION_BYTES: usize = 64;

/// Service of a node. The tasks that read its streams share its state.
#[derive(Clone)]
pub(crate) struct Service(pub(crate) Arc<NodeState>);

impl Handler for Service {
    type Replies = Replies;

    fn longest_request(&self) -> usize {
        self.0.max_payload_bytes + MAX_HEADER_BYTES
    }

    async fn describe(
        &self,
        request: DescribeRequest,
        peer: Option<SocketAddr>,
    ) -> Result<DescribeResponse, Status> {
        // A run that begins now would fail.
        if let Some(refusal) = self.0.ending_status() {
            return Err(refusal);
        }
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let ProcessorTimes { ran, waited, throttled, stolen, .. } = ProcessorTimes::now();
        let server = |count: &ServerCount| ServerRequests {
            address: count.address.clone(),
            requests: count.now(),
        };
        let mut answer = DescribeResponse {
            nonce: request.nonce,
            processor_ns: ns(ran),
            processor_wait_ns: ns(waited),
            throttled_ns: ns(throttled),
            stolen_ns: ns(stolen),
            servers: self.0.model.servers.iter().map(server).collect(),
            ..self.0.description.clone()
        };
        if request.evidence {
            // The route does not depend on the caller's port.
            let route = |peer: SocketAddr| Route {
                peer: peer.ip().to_string(),
                ..netdiv_machine::evidence::route(&peer.to_string())
            };
            let routes = peer.map(route).into_iter().collect();
            // A reading takes processor time, which belongs to samples in flight.
            let machine = match self.0.streams().owed() {
                0 => self.0.evidence.now().await,
                _ => self.0.evidence.last(),
            };
            let machine = machine.map_err(Status::failed_precondition)?;
            answer.machine = Some(Machine { routes, ..machine });
        }
        Ok(answer)
    }

    async fn flush(&self, request: FlushRequest) -> Result<FlushResponse, Status> {
        let FlushRequest { session, samples_sent } = request;
        let sessions = &self.0.sessions;
        let Some(session) = self.unless_ending(sessions.find_soon(&session)).await? else {
            return Err(Status::failed_precondition("no stream of this session is open"));
        };
        // A node that ends does not read the missing samples any more.
        let samples_received = self.unless_ending(session.flush(samples_sent)).await?;
        self.0.queue.flush();
        Ok(FlushResponse { samples_received })
    }

    async fn digests(&self, request: DigestsRequest) -> Result<DigestsResponse, Status> {
        let session = self.0.sessions.find(&request.session);
        let none = || Status::failed_precondition("no session of this name is open with digests");
        let digests = session.and_then(|session| session.digests.clone()).ok_or_else(none)?;
        // Sorting a long tally takes a moment.
        let part = tokio::task::spawn_blocking(move || digests.part(&request)).await;
        part.map_err(|error| Status::internal(error.to_string()))?
    }

    async fn measure(&self, request: MeasureRequest) -> Result<MeasureResponse, Status> {
        let Some(fabric) = &self.0.fabric else {
            let text = "this node does not dial other nodes; start it with --fabric-peers";
            return Err(Status::failed_precondition(text));
        };
        self.unless_ending(fabric.measure(request)).await?
    }

    fn infer<S>(&self, session: &SessionHeader, requests: Messages<S>) -> Result<Replies, Status>
    where
        S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static,
    {
        let (reading, replies) = self.open(session, requests)?;
        tokio::spawn(reading);
        Ok(replies)
    }
}

impl Service {
    /// Waits for a future, but at most until the node ends.
    async fn unless_ending<T>(&self, awaited: impl Future<Output = T>) -> Result<T, Status> {
        let mut condition = self.0.condition.clone();
        tokio::select! {
            biased;
            done = awaited => Ok(done),
            () = Condition::ending(&mut condition) => {
                let refusal = condition.borrow().refusal();
                Err(refusal.unwrap_or_else(|| Status::unavailable("the node ends")))
            }
        }
    }

    /// Opens a stream. Returns the task that reads it, and its replies.
    pub(crate) fn open<S>(
        &self,
        session: &SessionHeader,
        requests: Messages<S>,
    ) -> Result<(impl Future<Output = ()> + Send + use<S>, Replies), Status>
    where
        S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static,
    {
        if session.name.len() > MAX_SESSION_BYTES {
            let text = format!("a session's name has at most {MAX_SESSION_BYTES} bytes");
            return Err(Status::invalid_argument(text));
        }
        // Each stream has its own message options.
        let (checksums, tokens) = (session.checksums, session.tokens);
        let session = self.0.sessions.join(session).map_err(Status::resource_exhausted)?;
        let (sender, replies) = self.0.reply_channel(session.clone(), checksums, tokens)?;
        Ok((read_stream(self.0.clone(), requests, session, sender), replies))
    }
}
