//! Failures that end a run early.

use std::time::Duration;

/// Failure of a run. Only the first failure of a run is reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Failure {
    /// The connection broke, or the node closed it.
    #[error("lost node {node}: {why}. The process or the network failed; see that node's log")]
    NodeLost {
        node: String,
        why: String,
        /// Set if the node is gone; false if it is still there but sent data that cannot be read.
        gone: bool,
    },
    /// A node has samples in flight and sends no response.
    #[error(
        "node {node} has not answered any of its samples for {} s; its engine hangs, or --sample-timeout is \
         too short",
        waited.as_secs_f64()
    )]
    NoAnswer { node: String, waited: Duration },
    /// A sample has no response, although its node answers other samples.
    #[error(
        "node {node} has not answered one of its samples for {} s, while it answers others. It has lost the sample, or \
         --sample-deadline is too short",
        waited.as_secs_f64()
    )]
    Overdue { node: String, waited: Duration },
    /// A node was lost while it sent a response, so its samples must not go to another node.
    #[error(
        "{why}. Node {node} was in the middle of an answer, so its samples cannot go to another node"
    )]
    CutAnswer { node: String, why: String },
    /// A node was lost after the first token of a sample. LoadGen must not receive that token
    /// twice.
    #[error(
        "{why}. LoadGen has the first token of a sample that node {node} has not finished, so the sample cannot go to \
         another node"
    )]
    CutAfterFirst { node: String, why: String },
    /// A node broke the order of the events in a response.
    #[error("node {node} {violation}")]
    OutOfOrder { node: String, violation: OrderViolation },
    /// A message was changed in transit.
    #[error(
        "data was corrupted between this machine and node {node}: {why}. Check the adapters, switches and memory on \
         the path"
    )]
    Corrupted { node: String, why: String },
    /// The node cannot read a sample.
    #[error("node {node} refuses a sample: {why}")]
    BadSample { node: String, why: String },
    /// The node's engine failed.
    #[error("the engine of node {node} failed: {why}")]
    EngineFailed { node: String, why: String },
    /// A response is invalid.
    #[error("node {node} sent a response that cannot be read: {why}")]
    BadResponse { node: String, why: String },
    /// An output contradicts its node's description, or is longer than the run allows.
    #[error(
        "node {node} sent an output that contradicts its description or the limit of the run: {why}. Correct the description of \
         the model there, or its engine"
    )]
    BrokenAnnouncement {
        node: String,
        /// Contradiction, with the announced or requested value.
        why: String,
    },
    /// A node did not report its name.
    #[error("node {node} did not answer the request for its name: {why}")]
    NoName {
        /// Name of the node at the start of the run.
        node: String,
        why: String,
    },
    /// A node has a different name than at the start of the run.
    #[error("node {node} now has the name {now}; it was restarted or replaced during the run")]
    Renamed {
        /// Name at the start of the run.
        node: String,
        now: String,
    },
    /// A node describes itself differently than at the start of the run.
    #[error(
        "node {node} has a different {what} than at the start; it was restarted or replaced during the run"
    )]
    Replaced {
        node: String,
        /// Name of the fact that changed, such as `model`.
        what: &'static str,
    },
    /// A node did not acknowledge the end of a series.
    #[error("node {node} did not acknowledge the end of the queries: {why}")]
    NoFlush { node: String, why: String },
    /// The node's count of received samples differs from the number of samples sent to it.
    #[error("node {node} received {received} samples, but {sent} were sent to it")]
    Miscounted { node: String, sent: u64, received: u64 },
    /// A node did not send its digests.
    #[error("node {node} did not send its digests: {why}")]
    NoDigests { node: String, why: String },
    /// LoadGen issued a sample that the QSL has not loaded.
    #[error("sample {0} was issued but is not loaded; this is a bug in netdiv")]
    NotLoaded(usize),
    /// Other activity on this machine makes the measurement worthless.
    #[error("{0}")]
    Unfit(String),
    /// The user interrupted the run.
    #[error("interrupted by {0}")]
    Interrupted(String),
    /// A part of the QDL panicked, or has another bug.
    #[error("internal error in the QDL: {0}; this is a bug in netdiv")]
    Internal(String),
}

impl Failure {
    /// Returns true if the node is gone rather than wrong, so that other nodes can answer its
    /// samples.
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            Self::NodeLost { gone: true, .. }
                | Self::NoAnswer { .. }
                | Self::Overdue { .. }
                | Self::NoName { .. }
                | Self::NoFlush { .. }
        )
    }
}

/// Violation of the order of events by a node. A first token after the last event does
/// not count: its id no longer belongs to a sample, so it is dropped like any stale reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum OrderViolation {
    /// Second first token for one sample.
    #[error(
        "sent a second first token for one sample. Its engine or its release is faulty; see that node's log"
    )]
    Second,
    /// Last event without the first token, which the stream had requested.
    #[error(
        "answered a sample without its first token. Its engine does not send first tokens, or its release is too old"
    )]
    Missing,
    /// First token on a stream that did not request first tokens.
    #[error(
        "sent a first token that was not requested. Its release is faulty; install this release there"
    )]
    Unasked,
}
