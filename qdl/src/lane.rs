//! A lane: the QDL's end of one stream of samples.
//!
//! A *connection* leads to a node; a *stream* is one `Infer` call on it, with samples in one direction and replies in
//! the other. For each stream the dispatch has a *lane*: the inbox that the stream takes samples from, and what is in
//! flight on it. Lanes are numbered over all nodes.
//!
//! `outgoing.rs` fills the request stream, `incoming.rs` empties the response stream. Both run on the thread of their
//! connection, but for a sample that comes alone, which LoadGen's thread may send (`pace.rs`): it does not wait for the lock
//! below. The progress display locks it a few times a second.

use std::{sync::Arc, task::Waker};

use netdiv_node_common::words::AnswerTokens;
use parking_lot::Mutex;

use crate::{
    dispatch::LaneInbox,
    in_flight::{InFlight, Sample},
    inbox::{Inbox, Pending},
    loadgen::LoadGen,
    report::NodeReport,
    run::Run,
    settings::TokenBounds,
    tokens::OutputLimit,
    window::Window,
};

/// One stream of samples.
pub(crate) struct Lane<L: LoadGen> {
    pub(crate) number: usize,
    pub(crate) node: usize,
    pub(crate) node_name: String,
    /// What was agreed with the node.
    pub(crate) agreed: Agreed,
    pub(crate) run: Arc<Run<L>>,
    pub(crate) inbox: Arc<Inbox<L::Ticket>>,
    pub(crate) state: Mutex<LaneState<L::Ticket>>,
}

/// What its answers have to be.
#[derive(Debug, Clone)]
pub(crate) struct Agreed {
    /// What its answers are made of.
    pub(crate) tokens: AnswerTokens,
    /// Within which times their tokens have to come, where there are bounds.
    pub(crate) token_bounds: Option<TokenBounds>,
    /// The limit of the node's outputs, if it announces one and how outputs end.
    pub(crate) output_limit: Option<OutputLimit>,
    /// Whether every answer has a payload.
    pub(crate) never_empty: bool,
}

pub(crate) struct LaneState<T> {
    pub(crate) in_flight: InFlight<T>,
    pub(crate) report: NodeReport,
    /// The sending half, while it waits for room in the window.
    pub(crate) sender: Option<Waker>,
    /// Its samples were taken back: the node was lost.
    pub(crate) withdrawn: bool,
}

/// LoadGen was told of a sample's first token, so that no other node may answer the sample.
pub(crate) struct FirstSeen;

impl<L: LoadGen> Lane<L> {
    pub(crate) fn new(
        number: usize,
        node: usize,
        run: Arc<Run<L>>,
        window: Window,
        agreed: Agreed,
        report: NodeReport,
    ) -> Self {
        let in_flight = InFlight::new(number as u16, window, agreed.tokens == AnswerTokens::First);
        let node_name = report.name.clone();
        let LaneInbox { inbox, .. } = run.dispatch.lane(number);
        let state = LaneState { in_flight, report, sender: None, withdrawn: false };
        Self { number, node, node_name, agreed, run, inbox, state: Mutex::new(state) }
    }

    /// Whether answers are due.
    pub(crate) fn is_owed(&self) -> bool {
        self.state.lock().in_flight.iter().next().is_some()
    }

    /// Lets the sending half look again.
    pub(crate) fn wake_sender(&self) {
        let sender = self.state.lock().sender.take();
        sender.into_iter().for_each(Waker::wake);
    }

    /// Takes back every sample that was given to this lane and is not answered. No sample goes out on it any more, and
    /// none of its answers counts.
    pub(crate) fn withdraw(&self) -> Result<Vec<Pending<L::Ticket>>, FirstSeen> {
        let again = |Sample { ticket, index, issued, .. }| Pending { ticket, index, issued };
        let mut state = self.state.lock();
        state.withdrawn = true;
        let sent: Vec<_> = state.in_flight.retire().collect();
        if sent.iter().any(|sample| sample.first.is_some()) {
            return Err(FirstSeen);
        }
        state.report.taken_back = sent.len() as u64;
        let waiting = self.run.dispatch.withdraw(self.number);
        let mut samples: Vec<_> = sent.into_iter().map(again).chain(waiting).collect();
        state.report.redispatched = samples.len() as u64;
        samples.sort_by_key(|sample| sample.issued);
        Ok(samples)
    }
}
