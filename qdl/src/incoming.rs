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
    checksum, encoding,
    framing::Decoder,
    limits,
    v1::{InferResponse, Status},
};
use netdiv_transport::Connection;
use tokio::{
    sync::watch,
    time::{Interval, MissedTickBehavior, interval},
};

use crate::{
    Failure, LoadGen, NetworkSettings,
    lane::{Lane, LaneState},
    lock,
    node::{is_gone, words},
    outgoing::Outgoing,
    run::Stop,
};

/// Why a stream ended before the run did.
pub(crate) struct Broken {
    pub(crate) failure: Failure,
    /// Whether a part of an answer had come.
    pub(crate) mid_answer: bool,
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self { failure, mid_answer: false }
    }
}

/// Serves one stream until the run stops.
pub(crate) async fn serve<L: LoadGen>(
    lane: Arc<Lane<L>>,
    connection: Connection,
    session: SessionHeader,
    limits: NetworkSettings,
) -> Result<(), Broken> {
    let lost = |status: tonic::Status| lost(&lane.node_name, &status);
    let mut stop = lane.run.stop.subscribe();
    let mut clock = Deadlines::new(&limits);

    // A node may answer the call with the first reply only, so samples flow before it has.
    let mut opening = pin!(connection.infer(&session, Outgoing::new(lane.clone())));
    let mut replies = loop {
        tokio::select! {
            opened = &mut opening => break opened.map_err(lost)?,
            overdue = clock.tick(&lane) => overdue?,
            () = stopped(&mut stop, &lane) => match is_over(&lane)? {
                // The stream is opened all the same, so that it can be ended in order.
                true => break opening.await.map_err(lost)?,
                false => return Ok(()),
            },
        }
    };

    let mut burst = Vec::with_capacity(burst::MESSAGES);
    let mut answers = Answers::new();
    let failure = loop {
        tokio::select! {
            next = replies.next_burst(&mut burst) => {
                // Answers that came before an error are answers.
                handle(&lane, &mut burst, &mut answers, session.checksums)?;
                let mid_answer = replies.decoder().is_mid_message();
                if next.map_err(|status| Broken { failure: lost(status), mid_answer })? == Next::End {
                    let why = "it closed the stream".into();
                    let node = lane.node_name.clone();
                    return Err(Failure::NodeLost { node, why, gone: true }.into());
                }
            }
            overdue = clock.tick(&lane) => if let Err(late) = overdue {
                break late;
            },
            () = stopped(&mut stop, &lane) => {
                lane.wake_sender();
                match is_over(&lane) {
                    Ok(true) => {}
                    Ok(false) => return Ok(()),
                    Err(failure) => break failure,
                }
                // After a run that went well the node ends the stream as well; then it has seen our end.
                while replies.next_burst(&mut burst).await.is_ok_and(|next| next != Next::End) {
                    burst.clear();
                }
                return Ok(());
            }
        }
    };
    Err(cut_off(&lane, replies.decoder(), failure, session.checksums))
}

/// How a stream ends before the run does: whole answers that are here are answers too, and what is left then is a part of
/// one.
pub(crate) fn cut_off<L: LoadGen>(
    lane: &Lane<L>,
    replies: &mut Decoder,
    failure: Failure,
    checksums: bool,
) -> Broken {
    let mut burst = Vec::new();
    let received = replies.take_messages(&mut burst);
    let handled = handle(lane, &mut burst, &mut Answers::new(), checksums);
    let ended = received.map_err(|status| lost(&lane.node_name, &status));
    match handled.and(ended) {
        Ok(()) => Broken { failure, mid_answer: replies.is_mid_message() },
        Err(wrong) => wrong.into(),
    }
}

/// What a call's end says of the node.
fn lost(node: &str, status: &tonic::Status) -> Failure {
    let (node, why) = (node.to_owned(), words(status));
    match status.code() {
        tonic::Code::DataLoss => Failure::Corrupted { node, why },
        _ => Failure::NodeLost { node, why, gone: is_gone(status) },
    }
}

async fn stopped<L: LoadGen>(stop: &mut watch::Receiver<Stop>, lane: &Lane<L>) {
    // An error means that the run is gone, which is a stop as well.
    let _ = stop.wait_for(|stop| stop.ends(lane.node)).await;
}

/// Whether the run has come to a good end, where streams have to stop; false when it failed. An error when it goes on
/// without this node.
fn is_over<L: LoadGen>(lane: &Lane<L>) -> Result<bool, Failure> {
    if lane.run.stop.borrow().run {
        return Ok(lane.run.failure().is_none());
    }
    let why = "another stream to it broke".into();
    Err(Failure::NodeLost { node: lane.node_name.clone(), why, gone: true })
}

/// The answers of one burst: each ticket and its payload in the same place.
pub(crate) struct Answers<T> {
    tickets: Vec<T>,
    payloads: Vec<Bytes>,
}

impl<T> Answers<T> {
    pub(crate) fn new() -> Self {
        let tickets = Vec::with_capacity(burst::MESSAGES);
        Self { tickets, payloads: Vec::with_capacity(burst::MESSAGES) }
    }
}

/// Matches replies with their samples and completes them, so many at a time that decoding takes little memory.
pub(crate) fn handle<L: LoadGen>(
    lane: &Lane<L>,
    burst: &mut Vec<InferResponse>,
    answers: &mut Answers<L::Ticket>,
    checksums: bool,
) -> Result<(), Failure> {
    let now = Instant::now();
    let intact = if checksums { cut_at_damage(lane, burst) } else { Ok(()) };
    let mut replies = burst.drain(..);
    while !replies.as_slice().is_empty() {
        handle_some(lane, &mut replies, answers, now)?;
    }
    intact
}

/// Drops a reply that was changed on the way and all that follow it, and says what is wrong.
fn cut_at_damage<L: LoadGen>(
    lane: &Lane<L>,
    burst: &mut Vec<InferResponse>,
) -> Result<(), Failure> {
    let check = |(place, reply)| Some((place, checksum::check_response(reply).err()?));
    let Some((place, error)) = burst.iter().enumerate().find_map(check) else { return Ok(()) };
    burst.truncate(place);
    Err(Failure::Corrupted { node: lane.node_name.clone(), why: error.to_string() })
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

/// When a stream is looked at for answers that do not come.
struct Deadlines {
    sample_timeout: Duration,
    sample_deadline: Duration,
    silence: Interval,
    lateness: Interval,
    /// Whether the last look at single samples was not made, as it came too late.
    skipped: bool,
}

impl Deadlines {
    fn new(limits: &NetworkSettings) -> Self {
        let NetworkSettings { sample_timeout, sample_deadline, .. } = *limits;
        // Looking at each sample in flight takes a while; the time to detect is within a tenth of the limit, on a thread
        // that is not held up.
        let every = |limit: Duration, most: Duration| {
            let mut looks = interval((limit / 10).clamp(Duration::from_millis(10), most));
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            looks
        };
        let silence = every(sample_timeout, Duration::from_millis(500));
        let lateness = every(sample_deadline, Duration::from_secs(30));
        Self { sample_timeout, sample_deadline, silence, lateness, skipped: false }
    }

    /// Waits for the next look. An error when samples are in flight and no answer has come for too long, or one of them is
    /// in flight for too long while others are answered: at a slow node a sample may wait its turn. Time in which this
    /// process stood still, and nobody could look, is not held against the node.
    async fn tick<L: LoadGen>(&mut self, lane: &Lane<L>) -> Result<(), Failure> {
        let node = || lane.node_name.clone();
        tokio::select! {
            due = self.silence.tick() => {
                let (now, halt) = (Instant::now(), due.elapsed());
                let Some(since) = &mut lock(&lane.state).waiting_since else { return Ok(()) };
                *since = now.min(*since + halt);
                match now - *since > self.sample_timeout {
                    true => Err(Failure::NoAnswer { node: node(), waited: self.sample_timeout }),
                    false => Ok(()),
                }
            }
            due = self.lateness.tick() => {
                // Behind a halt answers may wait unread; the next look decides.
                self.skipped = !self.skipped && due.elapsed() > self.lateness.period();
                if self.skipped {
                    return Ok(());
                }
                let now = Instant::now();
                let late = |sent| now.saturating_duration_since(sent) > self.sample_deadline;
                match lock(&lane.state).slots.iter().any(|sample| late(sample.sent)) {
                    true => Err(Failure::Overdue { node: node(), waited: self.sample_deadline }),
                    false => Ok(()),
                }
            }
        }
    }
}
