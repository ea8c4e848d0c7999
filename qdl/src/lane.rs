//! Lanes: the QDL's end of each stream of samples.
//!
//! A *connection* leads to a node. A *stream* is one `Infer` call on it, with samples in one
//! direction and replies in the other. For each stream the dispatch has a *lane*: the inbox from
//! which the stream takes samples, and the samples in flight on it. Lanes are numbered over all
//! nodes.
//!
//! `sender.rs` fills the request stream, and `receiver.rs` reads the response stream. Both run on
//! the thread of their connection, with one exception: LoadGen's thread may send a sample that
//! arrives alone (`io_threads.rs`). That thread does not wait for the lock of [`Lane::state`]. The
//! progress display takes the lock a few times a second.

use std::{sync::Arc, task::Waker};

use netdiv_node_common::words::AnswerTokens;
use parking_lot::Mutex;

use crate::{
    in_flight::{InFlight, SentSample},
    inbox::{Inbox, QueuedSample},
    loadgen::LoadGen,
    report::NodeReport,
    run::Run,
    settings::TokenBounds,
    speed::SpeedEstimate,
    tokens::AnnouncedTokens,
    window::Window,
};

/// QDL's end of a stream of samples.
pub(crate) struct Lane<L: LoadGen> {
    pub(crate) number: usize,
    pub(crate) node: usize,
    pub(crate) node_name: String,
    /// Requirements on responses that were agreed with the node.
    pub(crate) agreed: ResponseRules,
    pub(crate) run: Arc<Run<L>>,
    pub(crate) inbox: Arc<Inbox<L::Ticket>>,
    /// Maximum number of samples in a batch of the node.
    batch: usize,
    pub(crate) state: Mutex<LaneState<L::Ticket>>,
}

/// Requirements on the responses of a node.
#[derive(Debug, Clone)]
pub(crate) struct ResponseRules {
    /// Facts that LoadGen receives about the tokens of a response.
    pub(crate) tokens: AnswerTokens,
    /// Time bounds for the tokens of a response, if there are any.
    pub(crate) token_bounds: Option<TokenBounds>,
    /// Announcements of the node about prompts and outputs, if its outputs are tokens.
    pub(crate) announced: Option<AnnouncedTokens>,
    /// Set if responses are not token ids, but each has the number of the model's tokens.
    pub(crate) token_counts: bool,
    /// Requires a payload in every response.
    pub(crate) never_empty: bool,
}

pub(crate) struct LaneState<T> {
    pub(crate) in_flight: InFlight<T>,
    pub(crate) report: NodeReport,
    pub(crate) speed: SpeedEstimate,
    /// Waker of the sending half, while it waits for room in the window.
    pub(crate) sender: Option<Waker>,
    /// Set once [`Lane::withdraw`] has taken back the samples, because the node was lost.
    pub(crate) withdrawn: bool,
}

/// Error of [`Lane::withdraw`]: LoadGen has received the first token of a sample, so no other node
/// may answer that sample.
pub(crate) struct FirstTokenReported;

impl<L: LoadGen> Lane<L> {
    pub(crate) fn new(
        number: usize,
        node: usize,
        run: Arc<Run<L>>,
        window: Window,
        batch: usize,
        agreed: ResponseRules,
        report: NodeReport,
    ) -> Self {
        let in_flight = InFlight::new(number as u16, window, agreed.tokens == AnswerTokens::First);
        let node_name = report.name.clone();
        let inbox = run.dispatch.inbox(number);
        let speed = SpeedEstimate::new(batch);
        run.dispatch.learn(number, &speed);
        let state = LaneState { in_flight, report, speed, sender: None, withdrawn: false };
        let (batch, state) = (batch.max(1), Mutex::new(state));
        Self { number, node, node_name, agreed, run, inbox, batch, state }
    }

    /// Returns the maximum number of samples that the lane may have in flight, of which it has
    /// `in_flight`. LoadGen's thread keeps a limit of the whole run.
    pub(crate) fn max_in_flight(&self, in_flight: usize) -> usize {
        if self.run.max_in_flight.is_some() {
            return usize::MAX;
        }
        let unanswered = usize::try_from(self.run.unanswered()).unwrap_or(usize::MAX);
        self.run.dispatch.max_in_flight(self.number, self.batch, in_flight, unanswered)
    }

    /// Returns true if samples of this lane are in flight.
    pub(crate) fn has_pending(&self) -> bool {
        self.state.lock().in_flight.iter().next().is_some()
    }

    /// Wakes the sending half, so that it checks again for room in the window and for the end of
    /// the run.
    pub(crate) fn wake_sender(&self) {
        let sender = self.state.lock().sender.take();
        sender.into_iter().for_each(Waker::wake);
    }

    /// Takes back every sample that was assigned to this lane and is not answered. After this, the
    /// lane sends no sample and ignores all replies. Fails if LoadGen has received the first token
    /// of one of the samples.
    pub(crate) fn withdraw(&self) -> Result<Vec<QueuedSample<L::Ticket>>, FirstTokenReported> {
        let again =
            |SentSample { ticket, index, issued, .. }| QueuedSample { ticket, index, issued };
        let mut state = self.state.lock();
        state.withdrawn = true;
        let sent: Vec<_> = state.in_flight.retire().collect();
        if sent.iter().any(|sample| sample.first.is_some()) {
            return Err(FirstTokenReported);
        }
        state.report.taken_back = sent.len() as u64;
        let waiting = self.run.dispatch.withdraw(self.number);
        let mut samples: Vec<_> = sent.into_iter().map(again).chain(waiting).collect();
        state.report.redispatched = samples.len() as u64;
        samples.sort_by_key(|sample| sample.issued);
        Ok(samples)
    }
}
