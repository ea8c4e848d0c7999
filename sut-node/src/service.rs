//! What the node does when it is called, over whichever transport.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_proto::{
    PROTOCOL_VERSION, SessionHeader,
    burst::{self, Messages, Next},
    checksum,
    encoding::{self, Encoding},
    layout,
    limits::MAX_HEADER_BYTES,
    tally::PayloadDigest,
    v1::{
        self, DescribeRequest, DescribeResponse, DigestsRequest, DigestsResponse, FlushRequest,
        FlushResponse, InferRequest, InferResponse, Machine, Route,
    },
};
use netdiv_transport::Handler;
use tokio::{
    sync::{Semaphore, SemaphorePermit, watch},
    time::timeout,
};
use tonic::Status;
use tracing::warn;

use crate::{
    admission::{Admission, Admitted},
    condition::Condition,
    config::{Config, EngineConfig},
    engine::{Model, NoModel, OneByOne},
    engine_thread::{Sample, cut, run_batch},
    metrics,
    queue::BatchQueue,
    replies::{self, Replies, ReplySender, ReplyTo},
    sessions::{Session, Sessions},
    streams::{MAX_STREAMS, Streams},
};

/// Messages up to this length are received without asking: as much as one frame of HTTP/2 brings.
const ASSEMBLED_FREELY_BYTES: usize = 1 << 20;

/// How long a longer one may take; meanwhile it keeps others waiting.
const ASSEMBLY_TIME: Duration = Duration::from_secs(60);

/// Longest session name.
const MAX_SESSION_BYTES: usize = 64;

/// The node, as its connections see it.
pub(crate) struct Node {
    description: DescribeResponse,
    machine: Machine,
    model: Model,
    max_payload_bytes: usize,
    max_in_flight_samples: usize,
    max_in_flight_bytes: u32,
    /// Bytes of long messages that are being received, over all streams; as many again as are in flight.
    assembling: Semaphore,
    admission: Arc<Admission>,
    queue: Arc<BatchQueue<Sample>>,
    /// In place of a queue and engine threads, where there is no model.
    no_model: Option<NoModel>,
    response_encoding: Encoding,
    sessions: Sessions,
    streams: Arc<Streams>,
    condition: watch::Receiver<Condition>,
}

impl Node {
    pub(crate) fn new(
        config: &Config,
        model: Model,
        machine: Machine,
        queue: Arc<BatchQueue<Sample>>,
        room: u32,
        condition: watch::Receiver<Condition>,
    ) -> Self {
        let max_in_flight_samples = config.max_in_flight_samples.unwrap_or(room);
        let admission = Admission::new(max_in_flight_samples, config.max_in_flight_bytes);
        Self {
            description: describe(config, &model, &machine, max_in_flight_samples),
            machine,
            model,
            max_payload_bytes: config.max_payload_bytes,
            max_in_flight_samples: max_in_flight_samples as usize,
            max_in_flight_bytes: config.max_in_flight_bytes,
            assembling: Semaphore::new(config.max_in_flight_bytes as usize),
            admission: Arc::new(admission),
            queue,
            no_model: matches!(config.engine, EngineConfig::None)
                .then(|| NoModel::new(config.max_payload_bytes)),
            // Zeros are not worth the time that it takes to compress them.
            response_encoding: match config.engine {
                EngineConfig::None => Encoding::None,
                _ => config.response_encoding,
            },
            sessions: Sessions::default(),
            streams: Arc::default(),
            condition,
        }
    }

    #[cfg(test)]
    pub(crate) fn admission(&self) -> &Admission {
        &self.admission
    }

    pub(crate) fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }

    /// A stream's way back; an error when the node takes none now.
    fn reply_channel(
        &self,
        session: Arc<Session>,
        checksums: bool,
    ) -> Result<(ReplySender, Replies), Status> {
        let (samples, bytes) = (self.max_in_flight_samples, self.max_in_flight_bytes as usize);
        let channel = replies::channel(&self.streams, samples, bytes, session, checksums);
        // Only now: who waits for the last stream to end has seen this one, or this one sees that it is too late.
        if let Some(refusal) = self.condition.borrow().refusal() {
            return Err(refusal);
        }
        channel.ok_or_else(|| {
            let text =
                format!("{MAX_STREAMS} streams are open; use fewer, or wait for others to end");
            Status::resource_exhausted(text)
        })
    }

    /// Hands over what a stream has brought.
    fn take(&self, samples: &mut Vec<Sample>) {
        match &self.no_model {
            Some(engine) if !samples.is_empty() => {
                let batch = std::mem::take(samples);
                run_batch(&mut OneByOne::new(engine.clone()), batch, self.response_encoding);
            }
            _ => self.queue.push(samples),
        }
    }

    /// What a sample counts. What claims to be longer than allowed will be refused, not decoded.
    fn cost(&self, request: &InferRequest) -> u64 {
        let allowed = Some(request.decoded_bytes).filter(|n| *n <= self.max_payload_bytes as u64);
        encoding::cost(request.payload.len(), allowed.unwrap_or(0))
    }
}

fn describe(
    config: &Config,
    model: &Model,
    machine: &Machine,
    max_in_flight_samples: u32,
) -> DescribeResponse {
    DescribeResponse {
        nonce: 0,
        protocol_version: PROTOCOL_VERSION,
        node_name: config.name.clone(),
        software_version: env!("CARGO_PKG_VERSION").into(),
        engine: model.engine.clone(),
        model_name: model.name.clone(),
        model_sha256: model.sha256.clone(),
        input: Some(model.input.clone()),
        encodings: model.encodings.iter().map(|encoding| *encoding as i32).collect(),
        max_payload_bytes: config.max_payload_bytes as u64,
        max_in_flight_samples,
        max_in_flight_bytes: config.max_in_flight_bytes.into(),
        max_batch: u32::try_from(config.batching.max_batch).unwrap_or(u32::MAX),
        config_sha256: machine.settings_sha256.clone().unwrap_or_default(),
        machine: None,
        checksums: true,
        machine_id: machine.machine_id.clone().unwrap_or_default(),
        host_name: machine.host_name.clone().unwrap_or_default(),
    }
}

/// The service shares the node with the tasks that read its streams.
#[derive(Clone)]
pub(crate) struct Service(pub(crate) Arc<Node>);

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
        // Who would begin a run here would lose it.
        if let ending @ Condition::Ending(_) = &*self.0.condition.borrow()
            && let Some(refusal) = ending.refusal()
        {
            return Err(refusal);
        }
        let mut answer = DescribeResponse { nonce: request.nonce, ..self.0.description.clone() };
        if request.evidence {
            // The caller's port says nothing about the way.
            let route = |peer: SocketAddr| Route {
                peer: peer.ip().to_string(),
                ..netdiv_evidence::route(&peer.to_string())
            };
            let routes = peer.map(route).into_iter().collect();
            answer.machine = Some(Machine { routes, ..self.0.machine.clone() });
        }
        Ok(answer)
    }

    async fn flush(&self, request: FlushRequest) -> Result<FlushResponse, Status> {
        let FlushRequest { session, samples_sent } = request;
        let Some(session) = self.0.sessions.find(&session) else {
            return Err(Status::failed_precondition("no stream of this session is open"));
        };
        let mut condition = self.0.condition.clone();
        let samples_received = tokio::select! {
            biased;
            received = session.flush(samples_sent) => received,
            // What has not come yet will not be read.
            () = Condition::ending(&mut condition) => {
                let refusal = condition.borrow().refusal();
                return Err(refusal.unwrap_or_else(|| Status::unavailable("the node ends")));
            }
        };
        self.0.queue.flush();
        Ok(FlushResponse { samples_received })
    }

    async fn digests(&self, request: DigestsRequest) -> Result<DigestsResponse, Status> {
        let session = self.0.sessions.find(&request.session);
        let none = || Status::failed_precondition("no session of this name is open with digests");
        let digests = session.as_ref().and_then(|session| session.digests()).cloned();
        let digests = digests.ok_or_else(none)?;
        // Putting a long tally in order takes a moment.
        let part = tokio::task::spawn_blocking(move || digests.part(&request)).await;
        part.map_err(|error| Status::internal(error.to_string()))?
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
    /// Opens a stream: what reads it, and its replies.
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
        // Each stream says for itself whether its messages have checksums.
        let checksums = session.checksums;
        let session = self.0.sessions.join(session).map_err(Status::resource_exhausted)?;
        let (sender, replies) = self.0.reply_channel(session.clone(), checksums)?;
        Ok((read_stream(self.0.clone(), requests, session, sender), replies))
    }
}

/// Reads one stream to its end, or until the node is asked to end; what was read is answered either way.
async fn read_stream<S>(
    node: Arc<Node>,
    mut requests: Messages<S>,
    session: Arc<Session>,
    replies: ReplySender,
) where
    S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static,
{
    let mut burst = Vec::with_capacity(burst::MESSAGES);
    let mut samples = Vec::with_capacity(burst::MESSAGES);
    let mut condition = node.condition.clone();
    requests.ask_above(ASSEMBLED_FREELY_BYTES);
    let mut assembling = None;
    loop {
        let mut more = tokio::select! {
            biased;
            () = Condition::ending(&mut condition) => {
                if let Some(farewell) = condition.borrow().farewell() {
                    replies.end_with(farewell);
                }
                // No company will come for what is here.
                node.queue.flush();
                return;
            }
            () = replies.closed() => return,
            next = next_burst(&node, &mut requests, &mut burst, &replies, &mut assembling) => next,
        };
        let arrived = node.queue.clock().now();
        if replies.has_checksums()
            && let Err(damage) = check(&mut burst)
        {
            more = Err(damage);
        }
        let received = burst.len();
        replies.backlog().read(received);
        session.received(received as u64);
        let mut refused = 0;
        for request in burst.drain(..) {
            let digest = session.digests().map(|digests| digests.received(&request.payload));
            let cost = node.cost(&request);
            let admitted = match node.admission.try_admit(cost) {
                Some(admitted) => admitted,
                None => {
                    // The engines must see what is here before this task waits for them.
                    node.take(&mut samples);
                    node.queue.flush();
                    tokio::select! {
                        biased;
                        admitted = node.admission.admit(cost) => admitted,
                        // An engine that hangs may hold all places.
                        () = replies.closed() => return,
                    }
                }
            };
            match accept(&node, request, digest, arrived, admitted, &replies) {
                Some(sample) => samples.push(sample),
                None => refused += 1,
            }
            if !node.admission.has_room_for(cost) {
                // No company will come for what is here.
                node.take(&mut samples);
                node.queue.flush();
            }
        }
        node.take(&mut samples);
        if session.is_flushed() {
            node.queue.flush();
        }
        metrics::samples(received, refused, node.queue.len());
        match more {
            Ok(true) => assembling = None,
            Ok(false) => return,
            Err(status) => {
                warn!(why = status.message(), "a stream broke");
                return replies.fail(status);
            }
        }
    }
}

/// Checks what was read. From the first message on that is not what was sent, nothing is used: what else is damaged
/// cannot be known.
fn check(burst: &mut Vec<InferRequest>) -> Result<(), Status> {
    let mut outcomes = burst.iter().map(checksum::check_request).enumerate();
    let damaged = outcomes.find_map(|(place, outcome)| outcome.err().map(|error| (place, error)));
    let Some((place, error)) = damaged else { return Ok(()) };
    burst.truncate(place);
    Err(Status::data_loss(error.to_string()))
}

/// Reads what has come, once the client has taken enough of its replies; false when nothing follows. Memory for a long
/// message is asked for before it is received.
async fn next_burst<'a, S>(
    node: &'a Node,
    requests: &mut Messages<S>,
    burst: &mut Vec<InferRequest>,
    replies: &ReplySender,
    assembling: &mut Option<SemaphorePermit<'a>>,
) -> Result<bool, Status>
where
    S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static,
{
    replies.backlog().has_room().await;
    loop {
        let next = match assembling.is_some() {
            false => requests.next_burst(burst).await?,
            true => timeout(ASSEMBLY_TIME, requests.next_burst(burst)).await.map_err(|_| {
                Status::deadline_exceeded("a long message has not come within a minute")
            })??,
        };
        let bytes = match next {
            Next::Burst => return Ok(true),
            Next::End => return Ok(false),
            Next::Long(bytes) => bytes,
        };
        let most = node.max_in_flight_bytes;
        let bytes_asked = u32::try_from(bytes).unwrap_or(u32::MAX).min(most);
        // The semaphore is never closed.
        *assembling = node.assembling.acquire_many(bytes_asked).await.ok();
        requests.grant(bytes);
    }
}

/// Decodes a sample and checks that it fits the model. One that does not is answered here, with the reason.
fn accept(
    node: &Node,
    request: InferRequest,
    digest: Option<PayloadDigest>,
    arrived: Instant,
    admitted: Admitted,
    replies: &ReplySender,
) -> Option<Sample> {
    let id = request.id;
    match decode(node, request) {
        Ok(payload) => {
            let length = node.model.length(&payload);
            let (replies, admitted) = (ReplyTo::Stream(replies.clone()), Some(admitted));
            Some(Sample { id, payload, digest, length, arrived, admitted, replies })
        }
        Err(error) => {
            let status = v1::Status::BadSample as i32;
            let response = InferResponse { id, status, error: cut(error), ..Default::default() };
            replies.send(vec![response]);
            None
        }
    }
}

fn decode(node: &Node, request: InferRequest) -> Result<Bytes, String> {
    let InferRequest { encoding, decoded_bytes, payload, .. } = request;
    if let Ok(known) = Encoding::try_from(encoding)
        && !node.model.encodings.contains(&known)
    {
        return Err(format!(
            "the model's manifest does not allow the encoding {}",
            encoding::name(known)
        ));
    }
    let payload = encoding::decode(encoding, payload, decoded_bytes, node.max_payload_bytes)
        .map_err(|error| error.to_string())?;
    layout::read(&node.model.input, &payload).map_err(|error| error.to_string())?;
    Ok(payload)
}
