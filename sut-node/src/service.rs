//! What the node does when it is called, over whichever transport.

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_proto::{
    PROTOCOL_VERSION,
    burst::{self, Messages},
    encoding::{self, Encoding},
    layout::{self, InputLayout},
    limits::MAX_HEADER_BYTES,
    v1::{
        self, DescribeRequest, DescribeResponse, FlushRequest, FlushResponse, InferRequest,
        InferResponse,
    },
};
use netdiv_transport::Handler;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tonic::Status;
use tracing::warn;

use crate::{
    admission::{Admission, Admitted},
    config::{Config, EngineConfig},
    engine::{Model, NoModel},
    engine_thread::{Sample, cut, run_batch},
    identity, metrics,
    queue::BatchQueue,
    replies::{self, Replies, Reply, ReplySender},
    sessions::{Session, Sessions},
};

/// Longest session name.
const MAX_SESSION_BYTES: usize = 64;

/// The node, as its connections see it.
pub(crate) struct Node {
    description: DescribeResponse,
    input: InputLayout,
    max_payload_bytes: usize,
    max_in_flight_samples: usize,
    admission: Arc<Admission>,
    queue: Arc<BatchQueue<Sample>>,
    /// In place of a queue and engine threads, where there is no model.
    no_model: Option<NoModel>,
    response_encoding: Encoding,
    sessions: Sessions,
    /// Turns true when the node is asked to end.
    ending: watch::Receiver<bool>,
}

impl Node {
    pub(crate) fn new(
        config: &Config,
        model: Model,
        queue: Arc<BatchQueue<Sample>>,
        ending: watch::Receiver<bool>,
    ) -> Self {
        let admission = Admission::new(config.max_in_flight_samples, config.max_in_flight_bytes);
        Self {
            input: model.input.clone(),
            description: describe(config, model),
            max_payload_bytes: config.max_payload_bytes,
            max_in_flight_samples: config.max_in_flight_samples as usize,
            admission: Arc::new(admission),
            queue,
            no_model: matches!(config.engine, EngineConfig::None)
                .then(|| NoModel::new(config.max_payload_bytes)),
            response_encoding: config.response_encoding,
            sessions: Sessions::default(),
            ending,
        }
    }

    /// Hands over what a stream has brought.
    fn take(&self, samples: &mut Vec<Sample>) {
        match &self.no_model {
            Some(engine) if !samples.is_empty() => {
                let batch = std::mem::take(samples);
                run_batch(&mut engine.clone(), batch, self.response_encoding);
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

fn describe(config: &Config, model: Model) -> DescribeResponse {
    let hash = Sha256::digest(config.in_words());
    DescribeResponse {
        nonce: 0,
        protocol_version: PROTOCOL_VERSION,
        node_name: config.name.clone(),
        software_version: env!("CARGO_PKG_VERSION").into(),
        engine: model.engine.into(),
        model_name: model.name,
        model_sha256: model.sha256,
        input: Some(model.input),
        encodings: encoding::SUPPORTED.map(|encoding| encoding as i32).to_vec(),
        max_payload_bytes: config.max_payload_bytes as u64,
        max_in_flight_samples: config.max_in_flight_samples,
        max_in_flight_bytes: config.max_in_flight_bytes.into(),
        max_batch: u32::try_from(config.max_batch).unwrap_or(u32::MAX),
        config_sha256: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        machine_id: identity::machine_id(),
        host_name: identity::host_name(),
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

    async fn describe(&self, request: DescribeRequest) -> Result<DescribeResponse, Status> {
        Ok(DescribeResponse { nonce: request.nonce, ..self.0.description.clone() })
    }

    async fn flush(&self, request: FlushRequest) -> Result<FlushResponse, Status> {
        let FlushRequest { session, samples_sent } = request;
        let Some(session) = self.0.sessions.find(&session) else {
            return Err(Status::failed_precondition("no stream of this session is open"));
        };
        let samples_received = session.flush(samples_sent).await;
        self.0.queue.flush();
        Ok(FlushResponse { samples_received })
    }

    fn infer<S>(&self, session: &str, requests: Messages<S>) -> Result<Replies, Status>
    where
        S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static,
    {
        if session.len() > MAX_SESSION_BYTES {
            let text = format!("a session's name has at most {MAX_SESSION_BYTES} bytes");
            return Err(Status::invalid_argument(text));
        }
        let session = self.0.sessions.join(session);
        let (sender, replies) = replies::channel(self.0.max_in_flight_samples, session.clone());
        tokio::spawn(read_stream(self.0.clone(), requests, session, sender));
        Ok(replies)
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
    let mut ending = node.ending.clone();
    loop {
        let more = tokio::select! {
            more = requests.next_burst(&mut burst) => more,
            _ = ending.wait_for(|ending| *ending) => Ok(false),
        };
        let arrived = Instant::now();
        let received = burst.len();
        session.received(received as u64);
        let mut refused = 0;
        for request in burst.drain(..) {
            let cost = node.cost(&request);
            let admitted = match node.admission.try_admit(cost) {
                Some(admitted) => admitted,
                None => {
                    // The engines must see what is here before this task waits for them.
                    node.take(&mut samples);
                    node.queue.flush();
                    node.admission.admit(cost).await
                }
            };
            match accept(&node, request, arrived, admitted, &replies) {
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
            Ok(true) => {}
            Ok(false) => return,
            Err(status) => {
                warn!(why = status.message(), "a stream broke");
                return replies.fail(status);
            }
        }
    }
}

/// Decodes a sample and checks that it fits the model. One that does not is answered here, with the reason.
fn accept(
    node: &Node,
    request: InferRequest,
    arrived: Instant,
    admitted: Admitted,
    replies: &ReplySender,
) -> Option<Sample> {
    let id = request.id;
    match decode(node, request) {
        Ok(payload) => {
            let replies = replies.clone();
            Some(Sample { id, payload, arrived, admitted, replies })
        }
        Err(error) => {
            let status = v1::Status::BadSample as i32;
            let response = InferResponse { id, status, error: cut(error), ..Default::default() };
            replies.send(vec![Reply { response, admitted }]);
            None
        }
    }
}

fn decode(node: &Node, request: InferRequest) -> Result<Bytes, String> {
    let InferRequest { encoding, decoded_bytes, payload, .. } = request;
    let payload = encoding::decode(encoding, payload, decoded_bytes, node.max_payload_bytes)
        .map_err(|error| error.to_string())?;
    layout::read(&node.input, &payload).map_err(|error| error.to_string())?;
    Ok(payload)
}
