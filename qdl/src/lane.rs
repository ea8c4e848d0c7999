//! A connection and what its two halves share.
//!
//! `outgoing.rs` fills the request stream, `incoming.rs` empties the response stream; both run on the same IO
//! thread, so the lock below is never contended by them. The progress display locks it a few times a second.

use std::{
    sync::{
        Arc, Condvar, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    task::Waker,
    time::Instant,
};

use tokio::sync::watch;

use crate::{
    Failure, LoadGen, SampleSource,
    dispatch::{Dispatch, LaneInbox},
    inbox::Inbox,
    lock,
    report::NodeReport,
    slots::SlotTable,
    window::Window,
};

/// What all connections of a run share.
pub(crate) struct Run<L: LoadGen> {
    pub(crate) loadgen: L,
    pub(crate) source: Arc<dyn SampleSource>,
    pub(crate) dispatch: Dispatch<L::Ticket>,
    /// Turns true when connections have to end, after the run or because it failed.
    pub(crate) stop: watch::Sender<bool>,
    failure: OnceLock<Failure>,
    issued: AtomicU64,
    outstanding: AtomicU64,
    idle: Condvar,
    idle_lock: Mutex<()>,
}

impl<L: LoadGen> Run<L> {
    pub(crate) fn new(
        loadgen: L,
        source: Arc<dyn SampleSource>,
        dispatch: Dispatch<L::Ticket>,
    ) -> Self {
        Self {
            loadgen,
            source,
            dispatch,
            stop: watch::Sender::new(false),
            failure: OnceLock::new(),
            issued: AtomicU64::new(0),
            outstanding: AtomicU64::new(0),
            idle: Condvar::new(),
            idle_lock: Mutex::new(()),
        }
    }

    /// Ends the run. The first reason stays; samples without an answer are dropped, never completed.
    pub(crate) fn fail(&self, failure: Failure) {
        if self.failure.set(failure).is_ok() {
            self.stop.send_replace(true);
            self.dispatch.close();
            let _guard = lock(&self.idle_lock);
            self.idle.notify_all();
        }
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.get()
    }

    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.failure.get().cloned().map_or(Ok(()), Err)
    }

    pub(crate) fn issued(&self) -> u64 {
        self.issued.load(Ordering::Relaxed)
    }

    pub(crate) fn add_issued(&self, samples: u64) {
        self.issued.fetch_add(samples, Ordering::Relaxed);
        self.outstanding.fetch_add(samples, Ordering::SeqCst);
    }

    /// Notes that LoadGen has got answers.
    pub(crate) fn completed(&self, samples: u64) {
        if self.outstanding.fetch_sub(samples, Ordering::SeqCst) == samples {
            let _guard = lock(&self.idle_lock);
            self.idle.notify_all();
        }
    }

    /// Waits until every issued sample is answered.
    pub(crate) fn wait_until_idle(&self) -> Result<(), Failure> {
        let mut guard = lock(&self.idle_lock);
        loop {
            self.check()?;
            if self.outstanding.load(Ordering::SeqCst) == 0 {
                return Ok(());
            }
            guard = self.idle.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

/// A sample in flight.
pub(crate) struct InFlight<T> {
    pub(crate) ticket: T,
    pub(crate) issued: Instant,
    pub(crate) sent: Instant,
    /// What it takes of the window, in bytes.
    pub(crate) cost: usize,
}

/// One connection.
pub(crate) struct Lane<L: LoadGen> {
    pub(crate) number: usize,
    pub(crate) node: usize,
    pub(crate) node_name: String,
    pub(crate) run: Arc<Run<L>>,
    pub(crate) inbox: Arc<Inbox<L::Ticket>>,
    pub(crate) state: Mutex<LaneState<L::Ticket>>,
}

pub(crate) struct LaneState<T> {
    pub(crate) slots: SlotTable<InFlight<T>>,
    pub(crate) window: Window,
    pub(crate) report: NodeReport,
    /// Since when answers are due: the last answer, or the first sample sent since there was none in flight.
    pub(crate) waiting_since: Option<Instant>,
    /// The sending half, while it waits for room in the window.
    pub(crate) sender: Option<Waker>,
}

impl<L: LoadGen> Lane<L> {
    pub(crate) fn new(
        number: usize,
        node: usize,
        run: Arc<Run<L>>,
        window: Window,
        report: NodeReport,
    ) -> Self {
        let slots = SlotTable::new(number as u16, window.max_samples());
        let node_name = report.name.clone();
        let LaneInbox { inbox, .. } = run.dispatch.lane(number);
        let state =
            Mutex::new(LaneState { slots, window, report, waiting_since: None, sender: None });
        Self { number, node, node_name, run, inbox, state }
    }

    /// Lets the sending half look again.
    pub(crate) fn wake_sender(&self) {
        let sender = lock(&self.state).sender.take();
        sender.into_iter().for_each(Waker::wake);
    }
}
