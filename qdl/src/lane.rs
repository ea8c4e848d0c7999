//! A connection and what its two halves share.
//!
//! `outgoing.rs` fills the request stream, `incoming.rs` empties the response stream; both run on the same IO
//! thread, so the lock below is never contended by them. The progress display locks it a few times a second.

use std::{
    sync::{Arc, Mutex},
    task::Waker,
    time::Instant,
};

use crate::{
    LoadGen,
    dispatch::LaneInbox,
    inbox::{Inbox, Pending},
    lock,
    report::NodeReport,
    run::Run,
    slots::SlotTable,
    window::Window,
};

/// A sample in flight.
pub(crate) struct InFlight<T> {
    pub(crate) ticket: T,
    pub(crate) index: usize,
    pub(crate) issued: Instant,
    pub(crate) sent: Instant,
    /// What it takes of the window, in bytes.
    pub(crate) cost: usize,
}

/// One stream of samples.
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
    /// Its samples were taken back: the node was lost.
    pub(crate) withdrawn: bool,
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
        let state = Mutex::new(LaneState {
            slots,
            window,
            report,
            waiting_since: None,
            sender: None,
            withdrawn: false,
        });
        Self { number, node, node_name, run, inbox, state }
    }

    /// Lets the sending half look again.
    pub(crate) fn wake_sender(&self) {
        let sender = lock(&self.state).sender.take();
        sender.into_iter().for_each(Waker::wake);
    }

    /// Takes back every sample that was given to this stream and is not answered. No sample goes out on it any more, and
    /// none of its answers counts.
    pub(crate) fn withdraw(&self) -> Vec<Pending<L::Ticket>> {
        let again = |InFlight { ticket, index, issued, .. }| Pending { ticket, index, issued };
        let mut samples: Vec<_> = {
            let mut state = lock(&self.state);
            let samples: Vec<_> = state.slots.retire().map(again).collect();
            state.waiting_since = None;
            state.withdrawn = true;
            samples
        };
        samples.extend(self.run.dispatch.withdraw(self.number));
        lock(&self.state).report.redispatched = samples.len() as u64;
        samples.sort_by_key(|sample| sample.issued);
        samples
    }
}
