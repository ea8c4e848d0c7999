//! State that all lanes of a run share: the counters of issued and unanswered samples, and the
//! signal that ends streams.

use std::{
    iter,
    num::NonZero,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use crate::{
    dispatch::Dispatch,
    failure::Failure,
    inbox::{Closed, QueuedSample},
    loadgen::{LoadGen, SampleSource},
};

/// Signal to the streams that they have to end: all streams, or the streams to lost nodes.
#[derive(Debug)]
pub(crate) struct Stop {
    /// Set once the whole run has to end, because it is over or because it failed.
    pub(crate) run: bool,
    /// Flag of each node, by the node's index; set once the node is lost.
    lost: Vec<bool>,
}

impl Stop {
    /// Returns true if streams to this node have to end.
    pub(crate) fn ends(&self, node: usize) -> bool {
        self.run || self.lost[node]
    }
}

/// Numbers of samples, which LoadGen's thread and all lanes change. Aligned, so that they share no
/// cache line with what these threads only read.
#[derive(Default)]
#[repr(align(128))]
struct Counts {
    issued: AtomicU64,
    outstanding: AtomicU64,
}

/// State that all lanes of a run share.
pub(crate) struct Run<L: LoadGen> {
    pub(crate) loadgen: L,
    pub(crate) source: Arc<dyn SampleSource>,
    pub(crate) dispatch: Dispatch<L::Ticket>,
    pub(crate) stop: watch::Sender<Stop>,
    failure: OnceLock<Failure>,
    counts: Counts,
    /// Number of lost nodes.
    losses: AtomicUsize,
    /// Number of lanes that lead to lost nodes and whose samples are not reassigned yet.
    unsettled: AtomicUsize,
    /// Maximum number of issued samples without a response. If set, each completion is announced,
    /// because LoadGen's thread may wait for room.
    pub(crate) max_in_flight: Option<NonZero<usize>>,
    changed: Condvar,
    changed_lock: Mutex<()>,
}

impl<L: LoadGen> Run<L> {
    pub(crate) fn new(
        loadgen: L,
        source: Arc<dyn SampleSource>,
        dispatch: Dispatch<L::Ticket>,
        nodes: usize,
        max_in_flight: Option<NonZero<usize>>,
    ) -> Self {
        Self {
            loadgen,
            source,
            dispatch,
            stop: watch::Sender::new(Stop { run: false, lost: vec![false; nodes] }),
            failure: OnceLock::new(),
            counts: Counts::default(),
            losses: AtomicUsize::new(0),
            unsettled: AtomicUsize::new(0),
            max_in_flight,
            changed: Condvar::new(),
            changed_lock: Mutex::new(()),
        }
    }

    /// Ends the run with a failure. Only the first failure is kept. Unanswered samples are dropped,
    /// never completed.
    pub(crate) fn fail(&self, failure: Failure) {
        if self.failure.set(failure).is_ok() {
            self.end();
            self.notify();
        }
    }

    /// Ends all streams, whether the run has failed or is over.
    pub(crate) fn end(&self) {
        self.stop.send_modify(|stop| stop.run = true);
        self.dispatch.close();
    }

    /// Continues the run without a node. The caller must later call [`Self::settle`] once for each
    /// of the `lanes` lanes to this node.
    pub(crate) fn lose(&self, node: usize, lanes: usize) {
        self.unsettled.fetch_add(lanes, Ordering::SeqCst);
        self.losses.fetch_add(1, Ordering::SeqCst);
        self.stop.send_modify(|stop| stop.lost[node] = true);
        self.notify();
    }

    /// Notes that the samples of one lane to a lost node are reassigned.
    pub(crate) fn settle(&self) {
        self.unsettled.fetch_sub(1, Ordering::SeqCst);
        self.notify();
    }

    /// Returns the number of lost nodes.
    pub(crate) fn losses(&self) -> usize {
        self.losses.load(Ordering::SeqCst)
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.get()
    }

    pub(crate) fn check_failure(&self) -> Result<(), Failure> {
        self.failure.get().cloned().map_or(Ok(()), Err)
    }

    pub(crate) fn issued(&self) -> u64 {
        self.counts.issued.load(Ordering::Relaxed)
    }

    pub(crate) fn add_issued(&self, samples: u64) {
        self.counts.issued.fetch_add(samples, Ordering::Relaxed);
        self.counts.outstanding.fetch_add(samples, Ordering::SeqCst);
    }

    /// Issues samples one by one, each once fewer than `limit` are unanswered.
    pub(crate) fn issue_within(
        &self,
        limit: NonZero<usize>,
        samples: impl Iterator<Item = (L::Ticket, usize)>,
    ) -> Result<(), Failure> {
        for (ticket, index) in samples {
            self.wait_until(|run| run.unanswered() < limit.get() as u64)?;
            self.add_issued(1);
            let mut sample = iter::once(QueuedSample { ticket, index, issued: Instant::now() });
            self.unless_closed(self.dispatch.push(&mut sample))?;
        }
        Ok(())
    }

    /// Converts the error of a closed inbox into the failure that closed it.
    pub(crate) fn unless_closed(&self, outcome: Result<(), Closed>) -> Result<(), Failure> {
        let unknown = || Failure::Internal("an inbox was closed without a reason".into());
        outcome.map_err(|Closed| self.failure().cloned().unwrap_or_else(unknown))
    }

    /// Notes that LoadGen has received the responses to `samples` samples.
    pub(crate) fn completed(&self, samples: u64) {
        let before = self.counts.outstanding.fetch_sub(samples, Ordering::SeqCst);
        if before == samples || self.max_in_flight.is_some() {
            self.notify();
        }
    }

    /// Returns the number of issued samples without a response.
    pub(crate) fn unanswered(&self) -> u64 {
        self.counts.outstanding.load(Ordering::SeqCst)
    }

    /// Returns true if every issued sample is answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.unanswered() == 0
    }

    /// Returns true if the samples of all lost nodes are reassigned.
    pub(crate) fn is_settled(&self) -> bool {
        self.unsettled.load(Ordering::SeqCst) == 0
    }

    /// Blocks until `so` returns true. Fails with the run's failure if the run has failed.
    pub(crate) fn wait_until(&self, so: impl Fn(&Self) -> bool) -> Result<(), Failure> {
        let mut guard = self.changed_lock.lock();
        loop {
            self.check_failure()?;
            if so(self) {
                return Ok(());
            }
            self.changed.wait(&mut guard);
        }
    }

    fn notify(&self) {
        let _guard = self.changed_lock.lock();
        self.changed.notify_all();
    }
}
