//! The receiving half of a connection: replies are matched, decoded and given to LoadGen.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use netdiv_proto::{
    SessionHeader,
    burst::{self, Next},
    encoding, limits,
    v1::{InferResponse, Status},
};
use netdiv_transport::Connection;
use tokio::sync::watch;

use crate::{
    Failure, LoadGen,
    lane::{Lane, LaneState},
    lock,
    node::words,
    outgoing::Outgoing,
};

/// Serves one connection until the run stops.
pub(crate) async fn serve<L: LoadGen>(
    lane: Arc<Lane<L>>,
    connection: Connection,
    session: SessionHeader,
    sample_timeout: Duration,
) -> Result<(), Failure> {
    let lost = |status: tonic::Status| Failure::NodeLost {
        node: lane.node_name.clone(),
        why: words(&status),
    };
    let mut stop = lane.run.stop.subscribe();
    let mut clock = tokio::time::interval(check_interval(sample_timeout));

    // A node may answer the call with the first reply only, so samples flow before it has.
    let mut opening = pin!(connection.infer(&session, Outgoing::new(lane.clone())));
    let mut replies = loop {
        tokio::select! {
            opened = &mut opening => break opened.map_err(lost)?,
            _ = clock.tick() => check_deadline(&lane, sample_timeout)?,
            () = stopped(&mut stop) => match lane.run.failure() {
                Some(_) => return Ok(()),
                // The stream is opened all the same, so that it can be ended in order.
                None => break opening.await.map_err(lost)?,
            },
        }
    };

    let mut burst = Vec::with_capacity(burst::MESSAGES);
    let mut answers = Answers::new();
    loop {
        tokio::select! {
            next = replies.next_burst(&mut burst) => {
                // Answers that came before an error are answers.
                handle(&lane, &mut burst, &mut answers)?;
                if next.map_err(lost)? == Next::End {
                    let why = "it closed the stream".into();
                    return Err(Failure::NodeLost { node: lane.node_name.clone(), why });
                }
            }
            _ = clock.tick() => check_deadline(&lane, sample_timeout)?,
            () = stopped(&mut stop) => {
                lane.wake_sender();
                // After a run that went well the node ends the stream as well; then it has seen our end.
                while lane.run.failure().is_none()
                    && replies.next_burst(&mut burst).await.is_ok_and(|next| next != Next::End)
                {
                    burst.clear();
                }
                return Ok(());
            }
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the run is gone, which is a stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// The answers of one burst: each ticket and its payload in the same place.
struct Answers<T> {
    tickets: Vec<T>,
    payloads: Vec<Bytes>,
}

impl<T> Answers<T> {
    fn new() -> Self {
        let tickets = Vec::with_capacity(burst::MESSAGES);
        Self { tickets, payloads: Vec::with_capacity(burst::MESSAGES) }
    }
}

/// Matches replies with their samples and completes them, so many at a time that decoding takes little memory.
fn handle<L: LoadGen>(
    lane: &Lane<L>,
    burst: &mut Vec<InferResponse>,
    answers: &mut Answers<L::Ticket>,
) -> Result<(), Failure> {
    let now = Instant::now();
    let mut replies = burst.drain(..);
    while !replies.as_slice().is_empty() {
        handle_some(lane, &mut replies, answers, now)?;
    }
    Ok(())
}

fn handle_some<L: LoadGen>(
    lane: &Lane<L>,
    replies: &mut impl Iterator<Item = InferResponse>,
    answers: &mut Answers<L::Ticket>,
    now: Instant,
) -> Result<(), Failure> {
    let mut failure = None;
    let sender = {
        let mut state = lock(&lane.state);
        let mut bytes = 0;
        while bytes < burst::BYTES
            && let Some(reply) = replies.next()
        {
            match accept(&mut state, &lane.node_name, reply, now) {
                Ok(Some((ticket, payload))) => {
                    bytes += payload.len();
                    answers.tickets.push(ticket);
                    answers.payloads.push(payload);
                }
                Ok(None) => {}
                Err(wrong) => {
                    failure = Some(wrong);
                    break;
                }
            }
        }
        if !answers.tickets.is_empty() {
            state.waiting_since = state.window.is_open().then_some(now);
        }
        state.sender.take()
    };
    // Answers that came before a wrong one are answers.
    let count = answers.tickets.len();
    lane.run.loadgen.complete(&mut answers.tickets, &answers.payloads);
    answers.payloads.clear();
    lane.run.dispatch.answered(lane.number, count);
    if count > 0 {
        lane.run.completed(count as u64);
    }
    sender.into_iter().for_each(std::task::Waker::wake);
    failure.map_or(Ok(()), Err)
}

/// The sample that a reply answers, and the response; `None` for a reply that belongs to no sample in flight.
fn accept<T>(
    state: &mut LaneState<T>,
    node: &str,
    reply: InferResponse,
    now: Instant,
) -> Result<Option<(T, Bytes)>, Failure> {
    let Some(sample) = state.slots.remove(reply.id) else {
        state.report.unmatched += 1;
        return Ok(None);
    };
    state.window.answered(sample.cost);
    let node = || node.to_owned();
    match Status::try_from(reply.status) {
        Ok(Status::Ok) => {}
        Ok(Status::BadSample) => {
            return Err(Failure::BadSample { node: node(), why: reply.error });
        }
        Ok(Status::EngineFailed) => {
            return Err(Failure::EngineFailed { node: node(), why: reply.error });
        }
        Err(_) => {
            let why = format!("unknown status number {}", reply.status);
            return Err(Failure::BadResponse { node: node(), why });
        }
    }
    let limit = limits::MAX_PAYLOAD_BYTES;
    let encoded = reply.payload.clone();
    let payload = encoding::decode(reply.encoding, encoded, reply.decoded_bytes, limit)
        .map_err(|error| Failure::BadResponse { node: node(), why: error.to_string() })?;
    let (queued, round_trip) = (sample.sent - sample.issued, now - sample.sent);
    state.report.answer(queued, round_trip, &reply);
    Ok(Some((sample.ticket, payload)))
}

fn check_interval(sample_timeout: Duration) -> Duration {
    (sample_timeout / 10).clamp(Duration::from_millis(10), Duration::from_millis(500))
}

/// Fails the run when samples are in flight and no answer has come for too long. A sample that waits its turn at a
/// slow node is not late while the node answers others.
fn check_deadline<L: LoadGen>(lane: &Lane<L>, limit: Duration) -> Result<(), Failure> {
    match lock(&lane.state).waiting_since {
        Some(since) if since.elapsed() > limit => {
            Err(Failure::NoAnswer { node: lane.node_name.clone(), waited: limit })
        }
        _ => Ok(()),
    }
}
