//! Handling of replies: each reply is matched with its sample, decoded and passed to LoadGen.
//!
//! A reply is an event in the response to one sample: its first token, a part of the output, or the
//! last event, which is the whole output or an error.

use std::{mem::take, slice, time::Instant};

use bytes::Bytes;
use netdiv_contract::{
    burst, checksum,
    encoding::{self, Encoding, EncodingError},
    limits,
    v1::{InferResponse, Part, Status},
};
use netdiv_node_common::{sanitise::sanitise, words::AnswerTokens};

use crate::{
    failure::{Failure, OrderViolation},
    in_flight::SentSample,
    lane::{Lane, LaneState, ResponseRules},
    loadgen::LoadGen,
    report::{AnswerTimes, EqualResponses},
    tokens,
};

/// Buffer of responses that LoadGen receives in one call: `payloads[i]` answers the sample of
/// `tickets[i]`.
pub(crate) struct Answers<T> {
    tickets: Vec<T>,
    payloads: Vec<Bytes>,
}

impl<T> Answers<T> {
    pub(crate) fn new() -> Self {
        let tickets = Vec::with_capacity(burst::MAX_BURST_MESSAGES);
        Self { tickets, payloads: Vec::with_capacity(burst::MAX_BURST_MESSAGES) }
    }
}

/// Handles the replies in `burst` and empties it. LoadGen receives the responses in portions that
/// are small enough for decoding to take little memory. `answers` is an empty buffer, which stays
/// empty between calls.
pub(crate) fn handle<L: LoadGen>(
    lane: &Lane<L>,
    burst: &mut Vec<InferResponse>,
    answers: &mut Answers<L::Ticket>,
    checksums: bool,
) -> Result<(), Failure> {
    let now = Instant::now();
    let intact = if checksums { cut_at_damage(lane, burst) } else { Ok(()) };
    let mut replies = burst.iter_mut();
    let mut handled = Ok(());
    while handled.is_ok() && !replies.as_slice().is_empty() {
        handled = handle_some(lane, &mut replies, answers, now);
    }
    burst.clear();
    handled.and(intact)
}

/// Drops the first damaged reply and all replies after it. The error describes the damage.
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
    replies: &mut slice::IterMut<'_, InferResponse>,
    answers: &mut Answers<L::Ticket>,
    now: Instant,
) -> Result<(), Failure> {
    let mut failure = None;
    let sender = {
        let mut state = lane.state.lock();
        let mut bytes = 0;
        let mut alike = EqualResponses::default();
        while bytes < burst::MAX_BURST_BYTES
            && let Some(response) = replies.next()
        {
            let answer = match Part::try_from(response.part) {
                Ok(Part::Whole) => last(lane, &mut state, response, now, &mut alike),
                Ok(Part::First) => first(lane, &mut state, response, now).map(|()| None),
                Ok(Part::More) => Ok(part(&mut state, response, now)),
                Err(_) => {
                    let part = response.part;
                    let why = format!("it is the part {part} of an answer, which does not exist");
                    Err(Failure::BadResponse { node: lane.node_name.clone(), why })
                }
            };
            match answer {
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
        alike.count(&mut state.report);
        if !answers.tickets.is_empty() {
            state.in_flight.record_activity(now);
            state.report.last_answered = Some(now);
            lane.run.dispatch.learn(lane.number, &state.speed);
        }
        state.sender.take()
    };
    // Responses before an invalid reply still count.
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

/// Passes a first token to LoadGen at once. The ticket stays with the sample, which is still in
/// flight.
fn first<L: LoadGen>(
    lane: &Lane<L>,
    state: &mut LaneState<L::Ticket>,
    response: &mut InferResponse,
    now: Instant,
) -> Result<(), Failure> {
    let sample = state.in_flight.first(response.id);
    let Some(sample) = sample.map_err(|violation| out_of_order(lane, violation))? else {
        state.report.unmatched += 1;
        return Ok(());
    };
    let (_, token) = payload(lane, response)?;
    let bad = |why| Failure::BadResponse { node: lane.node_name.clone(), why };
    sample.first = Some((tokens::parse_first_token(response, &token).map_err(bad)?, now));
    lane.run.loadgen.first_token(&mut sample.ticket, &token);
    state.in_flight.record_activity(now);
    Ok(())
}

fn out_of_order<L: LoadGen>(lane: &Lane<L>, violation: OrderViolation) -> Failure {
    Failure::OutOfOrder { node: lane.node_name.clone(), violation }
}

/// Notes the arrival of a part of an output, and returns no response. Such a part is for display
/// only, and nothing displays it yet, but it shows that the node is not silent.
fn part<T, A>(state: &mut LaneState<T>, response: &InferResponse, now: Instant) -> Option<A> {
    if state.in_flight.part(response.id) {
        state.in_flight.record_activity(now);
    } else {
        state.report.unmatched += 1;
    }
    None
}

/// Returns the ticket of the sample that a last event answers, and the response. `None` if the
/// event belongs to no sample in flight.
fn last<L: LoadGen>(
    lane: &Lane<L>,
    state: &mut LaneState<L::Ticket>,
    response: &mut InferResponse,
    now: Instant,
    alike: &mut EqualResponses,
) -> Result<Option<(L::Ticket, Bytes)>, Failure> {
    let Some(mut sample) = state.in_flight.last(response.id) else {
        state.report.unmatched += 1;
        return Ok(None);
    };
    let received = response.payload.len();
    let (encoding, payload) = payload(lane, response)?;
    let may = state.in_flight.may_complete(&sample);
    may.map_err(|violation| out_of_order(lane, violation))?;
    let bad = |why| Failure::BadResponse { node: lane.node_name.clone(), why };
    if payload.is_empty() && lane.agreed.never_empty {
        return Err(bad("it is empty, but the model never gives an empty answer".into()));
    }
    let ResponseRules { token_bounds, announced, token_counts, .. } = &lane.agreed;
    let is_counted = lane.agreed.tokens != AnswerTokens::Uncounted;
    if is_counted && *token_counts {
        let tokens = tokens::parse_count(response, sample.index).map_err(bad)?;
        lane.run.loadgen.set_token_count(&mut sample.ticket, tokens);
    } else if is_counted {
        let first = sample.first.map(|(token, _)| token);
        tokens::check_response(first, response, &payload).map_err(bad)?;
    }
    let broken = |why| Failure::BrokenAnnouncement { node: lane.node_name.clone(), why };
    let is_cut = match announced {
        Some(announced) => announced.check_output(&payload).map_err(broken)?,
        None => None,
    };
    if is_counted {
        let report = state.report.tokens.get_or_insert_default();
        let first = sample.first.map(|(_, told)| told.saturating_duration_since(sample.issued));
        report.count(response, now - sample.issued, first, *token_bounds, is_cut);
        if response.token_count == 1 {
            report.name_one_token(sample.index);
        }
    }
    state.report.received(received, encoding);
    let prompt = announced.as_ref().map_or(0, |announced| announced.prompt_tokens(sample.cost));
    state.report.cached_prompt_tokens += u64::from(response.cached_tokens.min(prompt));
    let SentSample { issued, sent, in_flight, .. } = sample;
    let InferResponse { queue_ns, prepare_ns, compute_ns, first_token_ns, .. } = *response;
    let is_impossible = response.cached_tokens > prompt;
    let [batch_size, has_fault] = [response.batch_size, is_impossible.into()].map(u64::from);
    let figures = [queue_ns, prepare_ns, compute_ns, first_token_ns, batch_size, has_fault];
    let times = || {
        let mut times = AnswerTimes::new(sent - issued, now - sent, &*response);
        times.is_impossible |= is_impossible;
        times
    };
    if let Some(times) = alike.add((issued, sent, figures), times, &mut state.report) {
        let [wait_ns, rest_ns] = times.wait_and_rest_ns();
        state.speed.observe(in_flight, wait_ns, rest_ns);
    }
    Ok(Some((sample.ticket, payload)))
}

/// Returns the encoding of the payload and the decoded payload, or the failure that the node
/// reports instead.
fn payload<L: LoadGen>(
    lane: &Lane<L>,
    response: &mut InferResponse,
) -> Result<(Encoding, Bytes), Failure> {
    let node = || lane.node_name.clone();
    match Status::try_from(response.status) {
        Ok(Status::Ok) if response.error.is_empty() => {}
        Ok(Status::Ok) => {
            let why =
                format!("its status is OK, but it has the error `{}`", sanitise(&response.error));
            return Err(Failure::BadResponse { node: node(), why });
        }
        Ok(Status::BadSample) => {
            return Err(Failure::BadSample { node: node(), why: sanitise(&response.error) });
        }
        Ok(Status::EngineFailed) => {
            return Err(Failure::EngineFailed { node: node(), why: sanitise(&response.error) });
        }
        Err(_) => {
            let why = format!("unknown status number {}", response.status);
            return Err(Failure::BadResponse { node: node(), why });
        }
    }
    let (encoded, limit) = (take(&mut response.payload), limits::MAX_PAYLOAD_BYTES);
    let unreadable =
        |error: EncodingError| Failure::BadResponse { node: node(), why: error.to_string() };
    let encoding = encoding::from_wire(response.encoding).map_err(unreadable)?;
    let decoded = encoding::decode_known(encoding, encoded, response.decoded_bytes, limit);
    Ok((encoding, decoded.map_err(unreadable)?))
}

#[cfg(test)]
#[path = "../tests/replies/mod.rs"]
mod tests;
