//! Inboxes: samples wait in them until a lane has room in its window.
//!
//! LoadGen's thread pushes samples and blocks while the inbox is full, so an Offline query of any
//! length uses no more memory than the inbox. Lanes take samples out. A lane that finds no sample
//! leaves its waker. A push wakes each sleeping lane once, however many samples it adds.

use std::{collections::VecDeque, iter::Peekable, task::Waker, time::Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// Maximum number of samples that a lane takes at once.
pub(crate) const MOST_TAKEN: usize = 256;

/// Sample that LoadGen has issued and no lane has taken.
#[derive(Debug)]
pub(crate) struct QueuedSample<T> {
    pub(crate) ticket: T,
    pub(crate) index: usize,
    pub(crate) issued: Instant,
}

/// Outcome of [`Inbox::take`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TakeOutcome {
    /// At least one sample was taken.
    Some,
    /// The inbox is empty. The waker is kept, and woken when a sample arrives.
    Empty,
    /// `admit` refused the next sample. It stays in the inbox.
    Refused,
}

struct InboxState<T> {
    queue: VecDeque<QueuedSample<T>>,
    sleepers: Vec<Waker>,
    /// Length to which the queue has to shrink before a waiting thread continues; `None` if no
    /// thread waits.
    wanted_length: Option<usize>,
    closed: bool,
    retired: bool,
}

impl<T> InboxState<T> {
    fn is_open(&self) -> Result<(), Refusal> {
        match (self.closed, self.retired) {
            (true, _) => Err(Refusal::Closed),
            (_, true) => Err(Refusal::Retired),
            _ => Ok(()),
        }
    }
}

pub(crate) struct Inbox<T> {
    state: Mutex<InboxState<T>>,
    shorter: Condvar,
    capacity: usize,
    /// Number of lanes that take from this inbox.
    takers: usize,
}

/// Error of a push after the run has failed. The pushed samples are dropped, because LoadGen
/// receives the failure.
#[derive(Debug)]
pub(crate) struct Closed;

/// Reason why an inbox accepts no samples.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The run has failed.
    Closed,
    /// The node of the inbox was lost. The samples have to go to another inbox.
    Retired,
}

impl<T> Inbox<T> {
    pub(crate) fn new(capacity: usize, takers: usize) -> Self {
        let queue = VecDeque::new();
        let state = InboxState {
            queue,
            sleepers: Vec::new(),
            wanted_length: None,
            closed: false,
            retired: false,
        };
        Self {
            state: Mutex::new(state),
            shorter: Condvar::new(),
            capacity: capacity.max(1),
            takers: takers.max(1),
        }
    }

    /// Pushes all samples, and blocks whenever the inbox is full. After an error, `samples` still
    /// yields the samples that were not accepted.
    pub(crate) fn push<I>(&self, samples: &mut Peekable<I>) -> Result<(), Refusal>
    where
        I: Iterator<Item = QueuedSample<T>>,
    {
        while samples.peek().is_some() {
            let mut state = self.state.lock();
            if state.queue.len() >= self.capacity {
                // Continues when the inbox is half empty: one wake-up for many samples.
                state = self.wait_for_length(state, self.capacity / 2)?;
            }
            state.is_open()?;
            let room = self.capacity - state.queue.len();
            state.queue.extend(samples.by_ref().take(room));
            let sleepers = std::mem::take(&mut state.sleepers);
            drop(state);
            sleepers.into_iter().for_each(Waker::wake);
        }
        Ok(())
    }

    /// Puts the samples of a lost node in front of the samples in this inbox, even beyond its
    /// capacity. Returns them instead if the node of this inbox is lost too.
    pub(crate) fn put_back(&self, samples: Vec<QueuedSample<T>>) -> Vec<QueuedSample<T>> {
        let mut state = self.state.lock();
        match state.is_open() {
            Err(Refusal::Retired) => return samples,
            Err(Refusal::Closed) => return Vec::new(),
            Ok(()) => {}
        }
        for sample in samples.into_iter().rev() {
            state.queue.push_front(sample);
        }
        state.sleepers.drain(..).for_each(Waker::wake);
        Vec::new()
    }

    /// Closes the inbox of a lost node, and returns the samples that wait in it.
    pub(crate) fn retire(&self) -> Vec<QueuedSample<T>> {
        let mut state = self.state.lock();
        state.retired = true;
        self.shorter.notify_all();
        state.sleepers.drain(..).for_each(Waker::wake);
        state.queue.drain(..).collect()
    }

    /// Blocks until every sample has been taken.
    pub(crate) fn wait_until_empty(&self) -> Result<(), Closed> {
        match self.wait_for_length(self.state.lock(), 0) {
            Err(Refusal::Closed) => Err(Closed),
            Ok(_) | Err(Refusal::Retired) => Ok(()),
        }
    }

    fn wait_for_length<'a>(
        &'a self,
        mut state: MutexGuard<'a, InboxState<T>>,
        length: usize,
    ) -> Result<MutexGuard<'a, InboxState<T>>, Refusal> {
        loop {
            state.is_open()?;
            if state.queue.len() <= length {
                return Ok(state);
            }
            state.wanted_length = Some(length);
            self.shorter.wait(&mut state);
        }
    }

    /// Moves samples from the inbox to `taken` while `admit` accepts them. A lane takes at most its
    /// fair share: the length of the queue divided by the number of lanes that take from it.
    pub(crate) fn take(
        &self,
        waker: &Waker,
        taken: &mut Vec<QueuedSample<T>>,
        mut admit: impl FnMut(&QueuedSample<T>) -> bool,
    ) -> TakeOutcome {
        let mut state = self.state.lock();
        if state.is_open().is_err() {
            // The run has ended, or the node was lost, since the caller checked. The caller has to
            // check again.
            waker.wake_by_ref();
            return TakeOutcome::Empty;
        }
        if state.queue.is_empty() {
            if !state.sleepers.iter().any(|sleeper| sleeper.will_wake(waker)) {
                state.sleepers.push(waker.clone());
            }
            return TakeOutcome::Empty;
        }
        let share = state.queue.len().div_ceil(self.takers).min(MOST_TAKEN);
        for _ in 0..share {
            if !state.queue.front().is_some_and(&mut admit) {
                break;
            }
            taken.extend(state.queue.pop_front());
        }
        if state.wanted_length.is_some_and(|wanted| state.queue.len() <= wanted) {
            state.wanted_length = None;
            self.shorter.notify_all();
        }
        if taken.is_empty() { TakeOutcome::Refused } else { TakeOutcome::Some }
    }

    /// Drops the waiting samples and refuses new samples, because the run has ended.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.queue.clear();
        self.shorter.notify_all();
        state.sleepers.drain(..).for_each(Waker::wake);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.state.lock().queue.len()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::Wake,
        thread,
    };

    use super::*;

    /// Waker that counts how often it is woken.
    #[derive(Default)]
    pub(crate) struct WakeCounter(AtomicUsize);

    impl WakeCounter {
        pub(crate) fn count(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    impl Wake for WakeCounter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn pending(index: usize) -> QueuedSample<()> {
        QueuedSample { ticket: (), index, issued: Instant::now() }
    }

    fn take(inbox: &Inbox<()>) -> Option<usize> {
        let (mut taken, mut first) = (Vec::new(), true);
        inbox.take(Waker::noop(), &mut taken, |_| std::mem::take(&mut first));
        taken.pop().map(|sample| sample.index)
    }

    #[test]
    fn a_burst_wakes_a_sleeper_once() {
        let inbox = Inbox::new(100, 1);
        let counter = Arc::new(WakeCounter::default());
        let waker = Waker::from(counter.clone());
        for _ in 0..3 {
            assert_eq!(inbox.take(&waker, &mut Vec::new(), |_| true), TakeOutcome::Empty);
        }
        inbox.push(&mut (0..50).map(pending).peekable()).unwrap();
        assert_eq!(counter.count(), 1);
        inbox.push(&mut (0..10).map(pending).peekable()).unwrap();
        assert_eq!(counter.count(), 1, "no lane sleeps");
    }

    #[test]
    fn a_refused_sample_stays_first() {
        let inbox = Inbox::new(10, 1);
        inbox.push(&mut (0..2).map(pending).peekable()).unwrap();
        let refused = inbox.take(Waker::noop(), &mut Vec::new(), |_| false);
        assert_eq!(refused, TakeOutcome::Refused);
        assert_eq!([take(&inbox), take(&inbox), take(&inbox)], [Some(0), Some(1), None]);
    }

    #[test]
    fn lanes_that_share_an_inbox_leave_something_for_each_other() {
        let inbox = Inbox::new(100, 4);
        inbox.push(&mut (0..40).map(pending).peekable()).unwrap();
        let mut taken = Vec::new();
        inbox.take(Waker::noop(), &mut taken, |_| true);
        assert_eq!(taken.len(), 10);
    }

    #[test]
    fn a_long_query_streams_through_a_short_inbox_in_order() {
        let inbox = Arc::new(Inbox::new(8, 1));
        let pusher = thread::spawn({
            let inbox = inbox.clone();
            move || {
                inbox.push(&mut (0..10_000).map(pending).peekable()).unwrap();
                inbox.wait_until_empty().unwrap();
            }
        });
        let mut next = 0;
        while next < 10_000 {
            assert!(inbox.len() <= 8);
            match take(&inbox) {
                Some(index) => {
                    assert_eq!(index, next);
                    next += 1;
                }
                None => thread::yield_now(),
            }
        }
        pusher.join().unwrap();
    }

    #[test]
    fn closing_frees_a_waiting_pusher() {
        let inbox = Arc::new(Inbox::new(1, 1));
        let pusher = thread::spawn({
            let inbox = inbox.clone();
            move || inbox.push(&mut (0..10).map(pending).peekable()).is_err()
        });
        inbox.close();
        assert!(pusher.join().unwrap());
        assert!(inbox.push(&mut (0..1).map(pending).peekable()).is_err());
    }
}
