//! Reads a stream: checks, admits and decodes samples, and passes them to the batcher.

use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_contract::{
    burst::{self, BurstOutcome, Messages},
    checksum, encoding,
    tally::PayloadDigest,
    v1::{self, InferRequest, InferResponse},
};
use tokio::{sync::SemaphorePermit, time::timeout};
use tonic::Status;
use tracing::{debug, warn};

use crate::{
    engine::answer::cut,
    ground::{condition::Condition, metrics},
    intake::node_state::NodeState,
    model::payload::Payload,
    sample::{
        admission::{AdmissionPermit, Cost},
        queued_sample::QueuedSample,
        replies::{ReplySender, ReplyTarget},
        sessions::Session,
    },
};

/// Maximum length of a message that the node receives without a permit, in bytes: one frame of
/// HTTP/2.
const ASSEMBLED_FREELY_BYTES: usize = 1 << 20;

/// Time limit for receiving a message longer than [`ASSEMBLED_FREELY_BYTES`], which holds memory
/// that other streams wait for.
const ASSEMBLY_TIME: Duration = Duration::from_secs(60);
/// Number of bytes of a message for which [`ASSEMBLY_TIME`] is extended by a second.
const ASSEMBLY_BYTES_PER_SECOND: u64 = 1 << 20;

/// Permit to receive a long message. It holds room that other streams wait for.
struct AssemblyPermit<'a> {
    _room: Option<SemaphorePermit<'a>>,
    time: Duration,
}

/// Reads a stream to its end, or until the node is asked to end. All samples that were read are
/// answered either way.
pub(super) async fn read_stream<S>(
    node: Arc<NodeState>,
    mut requests: Messages<S>,
    session: Arc<Session>,
    replies: ReplySender,
) where
    S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static,
{
    let mut burst = Vec::with_capacity(burst::MAX_BURST_MESSAGES);
    let samples = Vec::with_capacity(burst::MAX_BURST_MESSAGES);
    let costs = Vec::with_capacity(burst::MAX_BURST_MESSAGES);
    let mut intake = Intake { node: &node, session: &session, replies: &replies, samples, costs };
    requests.pause_above(ASSEMBLED_FREELY_BYTES);
    let mut assembling = None;
    // Kept over all bursts, because a wait that begins or ends takes locks.
    let (mut condition, mut watched) = (node.condition.clone(), node.condition.clone());
    let (mut ending, mut closed) = (pin!(Condition::ending(&mut watched)), pin!(replies.closed()));
    condition.mark_changed();
    loop {
        let is_ending =
            condition.has_changed().unwrap_or(false) && condition.borrow_and_update().is_ending();
        let mut more = tokio::select! {
            biased;
            next = next_burst(&node, &mut requests, &mut burst, &replies, &mut assembling), if !is_ending => next,
            () = &mut ending => {
                if let Some(farewell) = condition.borrow().closing_status() {
                    replies.end_with(farewell);
                }
                intake.submit_now();
                return;
            }
            () = &mut closed => return,
        };
        let arrived = node.queue.clock().now();
        if replies.has_checksums()
            && let Err(damage) = verify_checksums(&mut burst)
        {
            more = Err(damage);
        }
        if !intake.admit_burst(&mut burst, arrived, &mut assembling).await {
            return;
        }
        match more {
            Ok(true) => {}
            Ok(false) => return,
            Err(status) => {
                let why = status.message();
                // A client whose sample has failed ends its run, and with it its connections.
                if session.has_failed.load(Ordering::Relaxed) {
                    debug!(why, "a stream broke after a failure");
                } else {
                    warn!(why, "a stream broke");
                }
                return replies.fail(status);
            }
        }
    }
}

/// Samples of a stream between the network and the batcher.
struct Intake<'a> {
    node: &'a NodeState,
    session: &'a Session,
    replies: &'a ReplySender,
    /// Decoded samples that are not yet in the batcher.
    samples: Vec<QueuedSample>,
    /// Costs of the samples of a burst; kept to reuse the memory.
    costs: Vec<Cost>,
}

impl Intake<'_> {
    /// Admits and decodes a burst, and waits while the node is full. Returns false if the client
    /// has disconnected meanwhile. A long message is the first of its burst, and already holds its
    /// permit.
    async fn admit_burst(
        &mut self,
        burst: &mut Vec<InferRequest>,
        arrived: Instant,
        assembling: &mut Option<AssemblyPermit<'_>>,
    ) -> bool {
        let Self { node, session, replies, .. } = *self;
        let received = burst.len();
        replies.backlog().add_samples(received);
        session.record_received(received as u64);
        let mut costs = std::mem::take(&mut self.costs);
        costs.extend(burst.iter().map(|request| node.cost(request)));
        let (mut refused, last) = (0, costs.last().copied());
        // Usually there is room for the whole burst.
        let mut places = node.admission.try_admit(costs.iter().copied());
        for (request, cost) in burst.drain(..).zip(costs.drain(..)) {
            let digest =
                session.digests.as_ref().map(|digests| digests.add_sample(&request.payload));
            let admitted = match &mut places {
                Some(places) => places.split_off(cost),
                None => match self.admit_alone(cost, assembling.is_some()).await {
                    Some(admitted) => admitted,
                    None => return false,
                },
            };
            match accept(node, request, digest, arrived, admitted, replies) {
                Some(sample) => self.samples.push(sample),
                None => refused += 1,
            }
            *assembling = None;
            if places.is_none() && !node.admission.has_room_for(cost) {
                self.submit_now();
            }
        }
        self.costs = costs;
        if last.is_some_and(|cost| !node.admission.has_room_for(cost)) {
            self.submit_now();
        }
        let has_more = !self.samples.is_empty();
        node.submit(&mut self.samples);
        // Samples of other sessions are flushed by their own clients.
        if has_more && session.is_flushed() {
            node.queue.flush();
        }
        metrics::samples(received, refused);
        true
    }

    /// Admits one sample, once there is room; `None` if the client has disconnected meanwhile. A
    /// sample that holds room which other streams wait for does not wait for a client that reads
    /// its replies slowly.
    async fn admit_alone(&mut self, cost: Cost, holds_room: bool) -> Option<AdmissionPermit> {
        let (admission, backlog) = (&self.node.admission, self.replies.backlog());
        if (holds_room || !backlog.is_long())
            && let Some(admitted) = admission.try_admit([cost])
        {
            return Some(admitted);
        }
        // The engines must have all samples before this task waits for room.
        self.submit_now();
        let admitted = async {
            // The rest of a burst must not lengthen the backlog of a slow client.
            if !holds_room {
                backlog.is_short().await;
            }
            admission.admit(cost).await
        };
        tokio::select! {
            biased;
            admitted = admitted => Some(admitted),
            // An engine that hangs may hold all of the room.
            () = self.replies.closed() => None,
        }
    }

    /// Passes all samples to the batcher. No more samples will fill up their batch, so it does not
    /// wait for any.
    fn submit_now(&mut self) {
        self.node.submit(&mut self.samples);
        self.node.queue.flush();
    }
}

/// Verifies the checksums of received messages. Discards the first damaged message and all
/// messages after it, because the extent of the damage is unknown.
fn verify_checksums(burst: &mut Vec<InferRequest>) -> Result<(), Status> {
    let mut outcomes = burst.iter().map(checksum::check_request).enumerate();
    let damaged = outcomes.find_map(|(place, outcome)| outcome.err().map(|error| (place, error)));
    let Some((place, error)) = damaged else { return Ok(()) };
    burst.truncate(place);
    Err(Status::data_loss(error.to_string()))
}

/// Reads the next burst, once the client has read enough of its replies. Returns false at the end
/// of the stream. Waits for memory before it receives a long message.
async fn next_burst<'a, S>(
    node: &'a NodeState,
    requests: &mut Messages<S>,
    burst: &mut Vec<InferRequest>,
    replies: &ReplySender,
    assembling: &mut Option<AssemblyPermit<'a>>,
) -> Result<bool, Status>
where
    S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static,
{
    replies.backlog().has_room().await;
    loop {
        let next = match &assembling {
            Some(AssemblyPermit { time, .. }) => {
                timeout(*time, requests.next_burst(burst)).await.map_err(|_| {
                    let seconds = time.as_secs();
                    let why = format!("a long message has not arrived within {seconds} s");
                    Status::deadline_exceeded(why)
                })??
            }
            None => requests.next_burst(burst).await?,
        };
        let bytes = match next {
            BurstOutcome::Burst => return Ok(true),
            BurstOutcome::End => return Ok(false),
            BurstOutcome::Long(bytes) => bytes,
        };
        let most = node.max_in_flight_bytes;
        let bytes_asked = u32::try_from(bytes).unwrap_or(u32::MAX).min(most);
        // A client that reads no replies must not hold room that others wait for.
        replies.backlog().is_short().await;
        // The semaphore is never closed.
        let room = node.assembling.acquire_many(bytes_asked).await.ok();
        let time = ASSEMBLY_TIME + Duration::from_secs(bytes as u64 / ASSEMBLY_BYTES_PER_SECOND);
        *assembling = Some(AssemblyPermit { _room: room, time });
        requests.grant(bytes);
    }
}

/// Decodes a sample and checks that it fits the model. If it does not, sends the reason as its
/// reply and returns `None`.
fn accept(
    node: &NodeState,
    request: InferRequest,
    digest: Option<PayloadDigest>,
    arrived: Instant,
    admitted: AdmissionPermit,
    replies: &ReplySender,
) -> Option<QueuedSample> {
    let id = request.id;
    match decode(node, request) {
        Ok(payload) => {
            let length = node.model.length(&payload);
            let (replies, admitted) = (ReplyTarget::Stream(replies.clone()), Some(admitted));
            Some(QueuedSample { id, payload, digest, length, arrived, admitted, replies })
        }
        Err(error) => {
            let status = v1::Status::BadSample as i32;
            let response = InferResponse { id, status, error: cut(error), ..Default::default() };
            replies.send(vec![response]);
            None
        }
    }
}

fn decode(node: &NodeState, request: InferRequest) -> Result<Payload, String> {
    let InferRequest { encoding, decoded_bytes, payload, .. } = request;
    let encoding = encoding::from_wire(encoding).map_err(|error| error.to_string())?;
    if !node.model.encodings.contains(&encoding) {
        return Err(format!("the model's manifest does not allow the encoding {encoding}"));
    }
    let limit = node.max_payload_bytes;
    let payload = encoding::decode_known(encoding, payload, decoded_bytes, limit)
        .map_err(|error| error.to_string())?;
    let payload = node.model.read(payload)?;
    match node.refusal(payload.bytes().len()) {
        None => Ok(payload),
        Some(why) => Err(why),
    }
}
