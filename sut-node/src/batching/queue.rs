//! The batcher behind a lock: streams put samples in, engine threads wait for batches.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::{
    batching::batcher::{Batcher, Next, Queued, Rules},
    clock::Clock,
};

pub(crate) struct BatchQueue<T> {
    state: Mutex<State<T>>,
    /// For engines that have nothing to do.
    changed: Condvar,
    /// For engines that could begin another batch while one computes.
    changed_meanwhile: Condvar,
    clock: Clock,
}

struct State<T> {
    batcher: Batcher<T>,
    closed: bool,
    /// Engine threads that wait; none is woken while all are busy.
    idle: usize,
    /// Those that wait for a batch while one computes; they leave it to the others.
    computing: usize,
}

/// What an engine thread does while it waits for a batch.
#[derive(Clone, Copy)]
enum Waiting<'a> {
    /// Nothing, until it is that late.
    Idle(Option<Instant>),
    /// Its engine computes, until this is rung.
    Computing(&'a AtomicBool),
}

impl Waiting<'_> {
    fn is_rung(self) -> bool {
        matches!(self, Self::Computing(done) if done.load(Ordering::SeqCst))
    }
}

impl<T> State<T> {
    /// How many wait in that way.
    fn count(&mut self, waiting: Waiting<'_>) -> &mut usize {
        match waiting {
            Waiting::Idle(_) => &mut self.idle,
            Waiting::Computing(_) => &mut self.computing,
        }
    }
}

impl<T: Queued> BatchQueue<T> {
    pub(crate) fn new(rules: Rules, clock: Clock) -> Self {
        let batcher = Batcher::new(rules);
        Self {
            state: Mutex::new(State { batcher, closed: false, idle: 0, computing: 0 }),
            changed: Condvar::new(),
            changed_meanwhile: Condvar::new(),
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
        self.notify_one(&state);
    }

    fn notify_one(&self, state: &State<T>) {
        if state.idle > 0 {
            self.changed.notify_one();
        } else if state.computing > 0 {
            self.changed_meanwhile.notify_one();
        }
    }

    fn notify_all(&self) {
        self.changed.notify_all();
        self.changed_meanwhile.notify_all();
    }

    /// Lets what waits go at once, though its batch is not full.
    pub(crate) fn flush(&self) {
        self.state.lock().batcher.flush();
        self.notify_all();
    }

    /// Ends the engine threads once the queue is empty.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.batcher.flush();
        self.notify_all();
    }

    /// Number of samples that wait.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().batcher.len()
    }

    /// Engine threads that have nothing to do.
    #[cfg(test)]
    pub(crate) fn idle(&self) -> usize {
        self.state.lock().idle
    }

    /// A batch that can go now, of as many samples as there is room for; none where another engine has nothing to do.
    pub(crate) fn try_next_batch(&self, room: usize) -> Option<Vec<T>> {
        let mut state = self.state.lock();
        if state.idle > 0 {
            return None;
        }
        match state.batcher.next(self.clock.now(), room) {
            Next::Batch(batch) => Some(batch),
            Next::Wait | Next::WaitUntil(_) => None,
        }
    }

    /// Waits for a batch of as many samples as there is room for; `None` when the queue is closed and empty, or it is that late.
    pub(crate) fn next_batch(&self, room: usize, until: Option<Instant>) -> Option<Vec<T>> {
        self.wait_for_batch(room, Waiting::Idle(until))
    }

    /// Waits for a batch as long as that is not rung and no other engine has nothing to do.
    pub(crate) fn next_batch_before(&self, room: usize, done: &AtomicBool) -> Option<Vec<T>> {
        self.wait_for_batch(room, Waiting::Computing(done))
    }

    fn wait_for_batch(&self, room: usize, waiting: Waiting<'_>) -> Option<Vec<T>> {
        let mut state = self.state.lock();
        while !waiting.is_rung() {
            let now = self.clock.now();
            let next = match waiting {
                Waiting::Computing(_) if state.idle > 0 => Next::Wait,
                _ => state.batcher.next(now, room),
            };
            let until = match (next, waiting) {
                (Next::Batch(batch), _) => {
                    if state.batcher.len() > 0 {
                        self.notify_one(&state);
                    }
                    return Some(batch);
                }
                (Next::Wait, _) if state.closed => return None,
                (_, Waiting::Idle(Some(until))) if until <= now => return None,
                (Next::Wait, Waiting::Idle(until)) => until,
                (Next::Wait, Waiting::Computing(_)) => None,
                (Next::WaitUntil(deadline), Waiting::Idle(Some(until))) => {
                    Some(until.min(deadline))
                }
                (Next::WaitUntil(deadline), _) => Some(deadline),
            };
            self.wait(&mut state, waiting, until.map(|u| u.saturating_duration_since(now)));
        }
        None
    }

    /// Ends that wait.
    pub(crate) fn ring(&self, done: &AtomicBool) {
        // Whoever is about to wait has the lock.
        let _state = self.state.lock();
        done.store(true, Ordering::SeqCst);
        self.changed_meanwhile.notify_all();
    }

    fn wait(
        &self,
        state: &mut MutexGuard<'_, State<T>>,
        waiting: Waiting<'_>,
        time: Option<Duration>,
    ) {
        let changed = match waiting {
            Waiting::Idle(_) => &self.changed,
            Waiting::Computing(_) => &self.changed_meanwhile,
        };
        *state.count(waiting) += 1;
        match time {
            None => changed.wait(state),
            Some(time) => drop(changed.wait_for(state, time)),
        }
        *state.count(waiting) -= 1;
    }
}
