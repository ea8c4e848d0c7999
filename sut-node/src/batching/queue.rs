//! The batcher behind a lock. Streams push samples; engine threads or tasks wait for batches.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::{
    batching::batcher::{BatchLimits, Batchable, Batcher, Next},
    ground::clock::Clock,
};

pub(crate) struct BatchQueue<T> {
    state: Mutex<State<T>>,
    /// Wakes idle engines.
    changed: Condvar,
    /// Wakes engines that could begin another batch while one computes.
    changed_meanwhile: Condvar,
    clock: Clock,
}

struct State<T> {
    batcher: Batcher<T>,
    closed: bool,
    /// Number of idle engine threads. No thread is woken while all are busy.
    idle: usize,
    /// Number of threads that wait for a batch while another one computes. Idle threads have
    /// precedence.
    computing: usize,
    /// Wakers of engine tasks that wait.
    tasks: Vec<Waker>,
}

impl<T> State<T> {
    /// Returns the number of threads that wait while their engine is idle, or while it computes.
    fn waiting(&mut self, is_idle: bool) -> &mut usize {
        if is_idle { &mut self.idle } else { &mut self.computing }
    }

    fn wake_tasks(&mut self) {
        self.tasks.drain(..).for_each(Waker::wake);
    }
}

impl<T: Batchable> BatchQueue<T> {
    pub(crate) fn new(rules: BatchLimits, clock: Clock) -> Self {
        let batcher = Batcher::new(rules);
        Self {
            state: Mutex::new(State {
                batcher,
                closed: false,
                idle: 0,
                computing: 0,
                tasks: Vec::new(),
            }),
            changed: Condvar::new(),
            changed_meanwhile: Condvar::new(),
            clock,
        }
    }

    /// Returns the clock that measures arrivals and waits.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// Moves the samples of a stream into the batcher. Wakes one engine for all of them, unless
    /// they only wait behind older ones: an engine that waits has set its alarm for those.
    pub(crate) fn push(&self, samples: &mut Vec<T>) {
        if samples.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        let oldest = state.batcher.oldest();
        state.batcher.push(samples.drain(..));
        let is_awaited = state.idle > 0 || state.computing > 0 || !state.tasks.is_empty();
        if is_awaited
            && (state.batcher.oldest() != oldest || state.batcher.is_ready(self.clock.now()))
        {
            self.notify_one(&mut state);
        }
    }

    fn notify_one(&self, state: &mut State<T>) {
        if state.idle > 0 {
            self.changed.notify_one();
        } else if state.computing > 0 {
            self.changed_meanwhile.notify_one();
        } else {
            // Any remaining task may be busy by now, so all are woken.
            state.wake_tasks();
        }
    }

    fn notify_all(&self, state: &mut State<T>) {
        self.changed.notify_all();
        self.changed_meanwhile.notify_all();
        state.wake_tasks();
    }

    /// Lets waiting samples go at once, although their batch is not full.
    pub(crate) fn flush(&self) {
        let mut state = self.state.lock();
        state.batcher.flush();
        self.notify_all(&mut state);
    }

    /// Ends the engines once the queue is empty.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.batcher.flush();
        self.notify_all(&mut state);
    }

    /// Returns the number of samples that wait.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().batcher.len()
    }

    /// Returns the number of idle engine threads.
    #[cfg(test)]
    pub(crate) fn idle(&self) -> usize {
        self.state.lock().idle
    }

    /// Returns a batch that can go now, of at most `room` samples; `None` if another engine is
    /// idle.
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

    /// Asks the batcher for the next step, and wakes another engine for the remaining samples.
    fn next(&self, state: &mut State<T>, now: Instant, room: usize) -> Next<T> {
        let next = state.batcher.next(now, room);
        if matches!(next, Next::Batch(_)) && state.batcher.len() > 0 {
            self.notify_one(state);
        }
        next
    }

    /// Waits for a batch of at most `room` samples; `None` once the queue is closed and empty.
    pub(crate) fn next_batch(&self, room: usize) -> Option<Vec<T>> {
        self.wait_for_batch(room, None)
    }

    /// Like [`Self::next_batch`], but for an engine that runs in a task. Its samples never wait for
    /// other samples to fill up a batch.
    pub(crate) fn poll_next_batch(
        &self,
        context: &mut Context<'_>,
        room: usize,
    ) -> Poll<Option<Vec<T>>> {
        let mut state = self.state.lock();
        match self.next(&mut state, self.clock.now(), room) {
            Next::Batch(batch) => Poll::Ready(Some(batch)),
            Next::Wait | Next::WaitUntil(_) if state.closed => Poll::Ready(None),
            Next::Wait | Next::WaitUntil(_) => {
                if !state.tasks.iter().any(|task| task.will_wake(context.waker())) {
                    state.tasks.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    /// Waits for a batch; `None` if `done` is set first, or once the queue is closed and empty.
    /// Leaves the batch to an idle engine if there is one.
    pub(crate) fn next_batch_before(&self, room: usize, done: &AtomicBool) -> Option<Vec<T>> {
        self.wait_for_batch(room, Some(done))
    }

    /// Waits for a batch for an idle engine, or for one that computes until `done` is set.
    fn wait_for_batch(&self, room: usize, done: Option<&AtomicBool>) -> Option<Vec<T>> {
        let mut state = self.state.lock();
        while !done.is_some_and(|done| done.load(Ordering::SeqCst)) {
            let now = self.clock.now();
            let next = match done {
                Some(_) if state.idle > 0 => Next::Wait,
                _ => self.next(&mut state, now, room),
            };
            let until = match next {
                Next::Batch(batch) => return Some(batch),
                Next::Wait if state.closed => return None,
                Next::Wait => None,
                Next::WaitUntil(deadline) => Some(deadline),
            };
            self.wait(&mut state, done.is_none(), until.map(|u| u.saturating_duration_since(now)));
        }
        None
    }

    /// Sets `done`, which ends the wait of [`Self::next_batch_before`].
    pub(crate) fn ring(&self, done: &AtomicBool) {
        // A thread holds the lock from its check of `done` until it waits, so it cannot miss the
        // change.
        let _state = self.state.lock();
        done.store(true, Ordering::SeqCst);
        // The others take over the alarm of the one that leaves.
        self.changed_meanwhile.notify_all();
    }

    fn wait(&self, state: &mut MutexGuard<'_, State<T>>, is_idle: bool, time: Option<Duration>) {
        let changed = if is_idle { &self.changed } else { &self.changed_meanwhile };
        *state.waiting(is_idle) += 1;
        match time {
            None => changed.wait(state),
            Some(time) => drop(changed.wait_for(state, time)),
        }
        *state.waiting(is_idle) -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            mpsc::{Receiver, channel},
        },
        thread,
    };

    use super::*;

    #[derive(Debug, Clone, Copy)]
    struct Arrived(Instant);

    impl Batchable for Arrived {
        fn arrived(&self) -> Instant {
            self.0
        }

        fn length(&self) -> usize {
            1
        }

        fn bytes(&self) -> usize {
            1
        }
    }

    const FULL: usize = 3;
    const PATIENCE: Duration = Duration::from_secs(20);

    /// Starts idle engines, and returns the queue and the sizes of their batches.
    fn engines(age: Duration, count: usize) -> (Arc<BatchQueue<Arrived>>, Receiver<usize>) {
        let limits = BatchLimits { timeout: age, ..BatchLimits::without_waiting(FULL) };
        let queue = Arc::new(BatchQueue::new(limits, Clock::default()));
        let (sender, sizes) = channel();
        for _ in 0..count {
            let (queue, sender) = (queue.clone(), sender.clone());
            thread::spawn(move || {
                while let Some(batch) = queue.next_batch(usize::MAX) {
                    sender.send(batch.len()).unwrap();
                }
            });
        }
        while queue.idle() < count {
            thread::yield_now();
        }
        (queue, sizes)
    }

    fn push(queue: &BatchQueue<Arrived>) {
        queue.push(&mut vec![Arrived(Instant::now())]);
    }

    #[test]
    fn full_batches_go_at_once_although_single_samples_wake_nobody() {
        let (queue, sizes) = engines(Duration::from_secs(3600), 2);
        for _ in 0..100 {
            for _ in 0..2 * FULL {
                push(&queue);
            }
            let two = [(); 2].map(|()| sizes.recv_timeout(PATIENCE).unwrap());
            assert_eq!(two, [FULL; 2]);
        }
        push(&queue);
        queue.close();
        assert_eq!(sizes.recv_timeout(PATIENCE), Ok(1));
    }

    #[test]
    fn samples_that_woke_nobody_go_with_the_oldest() {
        let age = Duration::from_millis(20);
        let (queue, sizes) = engines(age, 2);
        for _ in 0..10 {
            let begun = Instant::now();
            for _ in 0..FULL - 1 {
                push(&queue);
            }
            let mut left = FULL - 1;
            while left > 0 {
                left -= sizes.recv_timeout(PATIENCE).unwrap();
                assert!(begun.elapsed() >= age);
            }
        }
        queue.close();
    }
}
