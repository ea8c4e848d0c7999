//! The batcher behind a lock: streams put samples in, engine threads wait for batches.

use std::time::Instant;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::{
    batching::batcher::{Batcher, Next, Queued, Rules},
    clock::Clock,
};

pub(crate) struct BatchQueue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    clock: Clock,
}

struct State<T> {
    batcher: Batcher<T>,
    closed: bool,
    /// Engine threads that wait; none is woken while all are busy.
    idle: usize,
}

impl<T: Queued> BatchQueue<T> {
    pub(crate) fn new(rules: Rules, clock: Clock) -> Self {
        let batcher = Batcher::new(rules);
        Self {
            state: Mutex::new(State { batcher, closed: false, idle: 0 }),
            changed: Condvar::new(),
            clock,
        }
    }

    /// The time by which samples come and wait.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// Adds what a stream has brought, and wakes one engine for all of it.
    pub(crate) fn push(&self, samples: &mut Vec<T>) {
        if samples.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        state.batcher.push(samples.drain(..));
        if state.idle > 0 {
            self.changed.notify_one();
        }
    }

    /// Lets what waits go at once, though its batch is not full.
    pub(crate) fn flush(&self) {
        self.state.lock().batcher.flush();
        self.changed.notify_all();
    }

    /// Ends the engine threads once the queue is empty.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.batcher.flush();
        self.changed.notify_all();
    }

    /// Number of samples that wait.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().batcher.len()
    }

    /// A batch that can go now, of as many samples as there is room for.
    pub(crate) fn try_next_batch(&self, room: usize) -> Option<Vec<T>> {
        match self.state.lock().batcher.next(self.clock.now(), room) {
            Next::Batch(batch) => Some(batch),
            Next::Wait | Next::WaitUntil(_) => None,
        }
    }

    /// Waits for a batch of as many samples as there is room for; `None` when the queue is closed and empty, or it is that late.
    pub(crate) fn next_batch(&self, room: usize, until: Option<Instant>) -> Option<Vec<T>> {
        let mut state = self.state.lock();
        loop {
            let now = self.clock.now();
            match state.batcher.next(now, room) {
                Next::Batch(batch) => {
                    if state.idle > 0 && state.batcher.len() > 0 {
                        self.changed.notify_one();
                    }
                    return Some(batch);
                }
                Next::Wait if state.closed => return None,
                _ if until.is_some_and(|until| until <= now) => return None,
                Next::Wait => self.wait(&mut state, until, now),
                Next::WaitUntil(deadline) => {
                    self.wait(&mut state, Some(until.map_or(deadline, |u| u.min(deadline))), now);
                }
            }
        }
    }

    fn wait(&self, state: &mut MutexGuard<'_, State<T>>, until: Option<Instant>, now: Instant) {
        state.idle += 1;
        match until {
            None => self.changed.wait(state),
            Some(until) => {
                self.changed.wait_for(state, until.saturating_duration_since(now));
            }
        }
        state.idle -= 1;
    }
}
