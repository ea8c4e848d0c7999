//! Outcomes of the batches of a worker, which a thread receives as they arrive.

use std::{collections::VecDeque, io, os::fd::OwnedFd, sync::Arc, thread};

use parking_lot::{Condvar, Mutex};
use rustix::net::RecvFlags;

use crate::{
    engine::interface::DoneCallback,
    worker::{
        message::{FromWorker, Message, words},
        process::{Worker, WorkerState, message_buffer, receive},
    },
};

/// Number of batches in flight, each in its own slot of the memory.
pub(super) const SLOTS: usize = 2;

/// Outcome of a batch, with the batch's number.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The outputs are in the memory; the words are the lengths of named dimensions, and then the
    /// numbers of tokens if the engine counts them.
    Done { number: u64, words: Vec<u32> },
    /// The engine has failed, for this reason.
    Failed { number: u64, why: String },
}

#[derive(Default)]
struct OutcomeQueue {
    arrived: VecDeque<Outcome>,
    /// Reason why no more outcomes arrive.
    closed: Option<String>,
    done: Option<DoneCallback>,
}

/// Outcomes that have arrived and nobody has taken.
#[derive(Default)]
pub(super) struct Outcomes {
    state: Mutex<OutcomeQueue>,
    changed: Condvar,
}

impl Outcomes {
    /// Starts the thread that receives a worker's outcomes. It ends with the worker.
    pub(super) fn receive_from(worker: &Worker) -> io::Result<Arc<Self>> {
        let outcomes = Arc::new(Self::default());
        let (own, socket, state) = (outcomes.clone(), worker.socket.clone(), worker.state.clone());
        thread::Builder::new().name("python".into()).spawn(move || own.run(&socket, &state))?;
        Ok(outcomes)
    }

    fn run(&self, socket: &OwnedFd, worker: &WorkerState) {
        let mut buffer = message_buffer();
        loop {
            let why = match receive(socket, &mut buffer, RecvFlags::empty()) {
                Ok(0) => worker.end_reason(),
                Err(error) => error.to_string(),
                Ok(length) => match outcome(&buffer[..length]) {
                    // More outcomes than batches in flight would queue without limit.
                    Some(outcome) if self.state.lock().arrived.len() < SLOTS => {
                        self.change(|state| state.arrived.push_back(outcome));
                        continue;
                    }
                    _ => "its worker sent an unexpected message".into(),
                },
            };
            return self.change(|state| state.closed = Some(why));
        }
    }

    fn change(&self, change: impl FnOnce(&mut OutcomeQueue)) {
        let done = {
            let mut state = self.state.lock();
            change(&mut state);
            state.done.take()
        };
        self.changed.notify_all();
        if let Some(done) = done {
            done();
        }
    }

    /// Calls `done` once [`Self::next`] would return at once.
    pub(super) fn when_next(&self, done: DoneCallback) {
        let mut state = self.state.lock();
        if state.arrived.is_empty() && state.closed.is_none() {
            state.done = Some(done);
        } else {
            drop(state);
            done();
        }
    }

    /// Waits for the next outcome. Fails with the reason why none arrives any more.
    pub(super) fn next(&self) -> Result<Outcome, String> {
        let mut state = self.state.lock();
        loop {
            if let Some(outcome) = state.arrived.pop_front() {
                return Ok(outcome);
            }
            if let Some(why) = &state.closed {
                return Err(why.clone());
            }
            self.changed.wait(&mut state);
        }
    }
}

fn outcome(message: &[u8]) -> Option<Outcome> {
    let message = Message::decode(message)?;
    let number = message.number;
    match message.kind {
        FromWorker::Done => Some(Outcome::Done { number, words: words(message.body).collect() }),
        FromWorker::Failed => Some(Outcome::Failed { number, why: message.text() }),
        _ => None,
    }
}
