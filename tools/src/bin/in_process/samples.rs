//! Issued samples of a run, and their responses.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use loadgen_node::Reading;
use loadgen_sys::{Abort, ResponseId};
use netdiv_contract::{
    encoding, limits,
    v1::{InferResponse, Part, Status},
};
use netdiv_qdl::{AnswerTimes, NodeReport, Progress, TokenBounds};
use parking_lot::{Condvar, Mutex};

/// State that LoadGen's threads and the engines' threads share.
pub(crate) struct Samples {
    state: Mutex<State>,
    answered: Condvar,
    /// Set once the run has failed. It is read without the lock.
    failed: AtomicBool,
    counts_tokens: bool,
    bounds: Option<TokenBounds>,
}

struct State {
    /// Samples in flight, by the id that the reply will have.
    in_flight: HashMap<u64, InFlight>,
    issued: u64,
    /// Samples whose responses LoadGen has.
    completed: u64,
    report: NodeReport,
    failure: Option<String>,
}

/// An issued sample without a response.
struct InFlight {
    ticket: ResponseId,
    issued: Instant,
    /// Time at which its first token arrived.
    first: Option<Instant>,
}

impl Samples {
    pub(crate) fn new(counts_tokens: bool, bounds: Option<TokenBounds>) -> Self {
        let state = State {
            in_flight: HashMap::new(),
            issued: 0,
            completed: 0,
            report: NodeReport::new("in-process", "none"),
            failure: None,
        };
        Self {
            state: Mutex::new(state),
            answered: Condvar::new(),
            failed: AtomicBool::new(false),
            counts_tokens,
            bounds,
        }
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.state.lock().failure.clone()
    }

    /// Fails the run. The first reason is kept.
    pub(crate) fn fail(&self, reason: String) {
        self.state.lock().failure.get_or_insert(reason);
        self.failed.store(true, Ordering::SeqCst);
        self.answered.notify_all();
    }

    /// Returns an error, which ends LoadGen's test, once the run has failed.
    pub(crate) fn check(&self) -> Result<(), Abort> {
        if self.failed.load(Ordering::SeqCst) {
            return Err(loadgen_node::run_failure(self.failure().unwrap_or_default()));
        }
        Ok(())
    }

    /// Records issued samples. Returns the id and the payload of each.
    pub(crate) fn note(&self, samples: Vec<(ResponseId, Bytes)>) -> Vec<(u64, Bytes)> {
        let now = Instant::now();
        let mut state = self.state.lock();
        let mut noted = Vec::with_capacity(samples.len());
        for (ticket, payload) in samples {
            let id = state.issued;
            state.issued += 1;
            state.report.bytes_sent += payload.len() as u64;
            state.report.sent += 1;
            state.in_flight.insert(id, InFlight { ticket, issued: now, first: None });
            noted.push((id, payload));
        }
        noted
    }

    /// Reports responses to LoadGen, which completes their samples.
    pub(crate) fn complete(&self, replies: Vec<InferResponse>) {
        let now = Instant::now();
        let (mut tickets, mut payloads) = (Vec::new(), Vec::new());
        let mut state = self.state.lock();
        for reply in replies {
            if reply.part() == Part::First {
                if let Some(sample) = state.in_flight.get_mut(&reply.id) {
                    sample.first = Some(now);
                    loadgen_sys::first_token(&mut sample.ticket, &reply.payload);
                }
                continue;
            }
            let sample = state.in_flight.remove(&reply.id);
            let Some(InFlight { mut ticket, issued, first }) = sample else { continue };
            ticket.set_token_count(reply.token_count);
            match payload(&reply) {
                Ok(payload) => {
                    self.count(
                        &mut state.report,
                        &reply,
                        now - issued,
                        first.map(|at| at - issued),
                    );
                    tickets.push(ticket);
                    payloads.push(payload);
                }
                Err(failure) => {
                    drop(state);
                    self.fail(failure);
                    state = self.state.lock();
                }
            }
        }
        drop(state);
        let count = tickets.len() as u64;
        loadgen_sys::complete(tickets.into_iter().zip(payloads.iter().map(|bytes| &bytes[..])));
        self.state.lock().completed += count;
        self.answered.notify_all();
    }

    fn count(
        &self,
        report: &mut NodeReport,
        reply: &InferResponse,
        latency: Duration,
        first: Option<Duration>,
    ) {
        report.received(reply.payload.len(), reply.encoding());
        report.count_answers(&AnswerTimes::new(Duration::ZERO, latency, reply), 1);
        if self.counts_tokens {
            let tokens = report.tokens.get_or_insert_default();
            tokens.count(reply, latency, first, self.bounds, None);
        }
    }

    /// Waits until LoadGen has every response, or the run has failed.
    pub(crate) fn wait(&self) -> Result<(), Abort> {
        let mut state = self.state.lock();
        while state.completed < state.issued && state.failure.is_none() {
            self.answered.wait(&mut state);
        }
        drop(state);
        self.check()
    }

    pub(crate) fn progress(&self) -> Progress {
        let state = self.state.lock();
        let NodeReport { sent, answered, latency_sum_ns, .. } = state.report;
        Progress { issued: state.issued, sent, answered, latency_sum_ns }
    }

    pub(crate) fn reading(&self) -> Reading {
        let state = self.state.lock();
        let nodes = vec![state.report.clone()];
        Reading { issued: state.issued, nodes, failed: state.failure.is_some() }
    }
}

/// Returns the payload of a whole response, or the reason why it is unusable.
fn payload(reply: &InferResponse) -> Result<Bytes, String> {
    if reply.status() != Status::Ok {
        return Err(reply.error.clone());
    }
    let limit = limits::MAX_PAYLOAD_BYTES;
    encoding::decode(reply.encoding, reply.payload.clone(), reply.decoded_bytes, limit)
        .map_err(|error| error.to_string())
}
