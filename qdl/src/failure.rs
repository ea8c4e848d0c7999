//! How a run ends early.

use std::time::Duration;

/// Why the run failed. The first failure of a run is the one that is reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The connection broke, or the node closed it.
    #[error("lost node {node}: {why}. The process or the network failed; see that node's log")]
    NodeLost {
        /// Name of the node.
        node: String,
        /// What the transport says.
        why: String,
        /// Whether it is gone. False where it is there, and what it sent cannot be read.
        gone: bool,
    },
    /// Samples are in flight and no answer comes.
    #[error(
        "node {node} has not answered any of its samples for {} s; its engine hangs, or --sample-timeout is \
         too short",
        waited.as_secs_f64()
    )]
    NoAnswer {
        /// Name of the node.
        node: String,
        /// The limit that was passed.
        waited: Duration,
    },
    /// One sample has no answer while others have.
    #[error(
        "node {node} has not answered one of its samples for {} s, while it answers others. It has lost the sample, or \
         --sample-deadline is too short",
        waited.as_secs_f64()
    )]
    Overdue {
        /// Name of the node.
        node: String,
        /// The limit that was passed.
        waited: Duration,
    },
    /// A node was lost while it sent an answer, so that its samples must not go to another one.
    #[error(
        "{why}. Node {node} was in the middle of an answer, so its samples cannot go to another node"
    )]
    CutAnswer {
        /// Name of the node.
        node: String,
        /// How it was lost.
        why: String,
    },
    /// A node was lost after the first token of a sample, which LoadGen must not be told of twice.
    #[error(
        "{why}. LoadGen has the first token of a sample that node {node} has not finished, so the sample cannot go to \
         another node"
    )]
    CutAfterFirst {
        /// Name of the node.
        node: String,
        /// How it was lost.
        why: String,
    },
    /// A node sent two first tokens of one sample.
    #[error(
        "node {node} sent a second first token of one sample. Its engine or its release is wrong; see that node's log"
    )]
    SecondFirst {
        /// Name of the node.
        node: String,
    },
    /// A node answered a sample and had not sent the first token, which was due.
    #[error(
        "node {node} answered a sample without its first token. Its engine sends none, or its release is too old"
    )]
    MissingFirst {
        /// Name of the node.
        node: String,
    },
    /// A node sent a first token where none is due.
    #[error(
        "node {node} sent a first token that was not asked for. Its release is wrong; install this one there"
    )]
    UnaskedFirst {
        /// Name of the node.
        node: String,
    },
    /// A message was changed on its way.
    #[error(
        "data was corrupted between this machine and node {node}: {why}. Check the adapters, switches and memory on \
         the way"
    )]
    Corrupted {
        /// Name of the node.
        node: String,
        /// What was found, and where.
        why: String,
    },
    /// The node cannot read a sample.
    #[error("node {node} refuses a sample: {why}")]
    BadSample {
        /// Name of the node.
        node: String,
        /// What the node says.
        why: String,
    },
    /// The node's engine failed.
    #[error("the engine of node {node} failed: {why}")]
    EngineFailed {
        /// Name of the node.
        node: String,
        /// What the node says.
        why: String,
    },
    /// A response cannot be decoded.
    #[error("node {node} sent a response that cannot be read: {why}")]
    BadResponse {
        /// Name of the node.
        node: String,
        /// What is wrong with it.
        why: String,
    },
    /// A node did not say its name.
    #[error("node {node} did not answer the request for its name: {why}")]
    NoName {
        /// Name of the node at the start of the run.
        node: String,
        /// What went wrong.
        why: String,
    },
    /// A node has another name than at the start of the run.
    #[error("node {node} now calls itself {now}; it was restarted or replaced during the run")]
    Renamed {
        /// Name at the start.
        node: String,
        /// Name now.
        now: String,
    },
    /// A node is not what it was at the start of the run.
    #[error(
        "node {node} has another {what} than at the start; it was restarted or replaced during the run"
    )]
    Replaced {
        /// Name of the node.
        node: String,
        /// What is another one.
        what: &'static str,
    },
    /// A node did not acknowledge the end of a series.
    #[error("node {node} did not acknowledge the end of the queries: {why}")]
    NoFlush {
        /// Name of the node.
        node: String,
        /// What went wrong.
        why: String,
    },
    /// A node has received more or fewer messages than were sent to it.
    #[error("node {node} has received {received} samples, {sent} were sent to it")]
    Miscounted {
        /// Name of the node.
        node: String,
        /// Samples sent to it.
        sent: u64,
        /// Samples that it says it has received.
        received: u64,
    },
    /// A node does not say what it received and sent.
    #[error("node {node} did not send its digests: {why}")]
    NoDigests {
        /// Name of the node.
        node: String,
        /// What went wrong.
        why: String,
    },
    /// LoadGen issued a sample that the QSL has not loaded.
    #[error("sample {0} was issued but is not loaded; this is a bug in netdiv")]
    NotLoaded(usize),
    /// What this machine does makes the measurement worthless.
    #[error("{0}")]
    Unfit(String),
    /// The user asked for the end.
    #[error("interrupted by {0}")]
    Interrupted(String),
    /// A part of the QDL panicked.
    #[error("internal error in the QDL: {0}; this is a bug in netdiv")]
    Internal(String),
}

impl Failure {
    /// Whether the node is gone, rather than wrong, so that others can do its work.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::NodeLost { gone, .. } => *gone,
            Self::NoAnswer { .. }
            | Self::Overdue { .. }
            | Self::NoName { .. }
            | Self::NoFlush { .. } => true,
            Self::CutAnswer { .. }
            | Self::CutAfterFirst { .. }
            | Self::SecondFirst { .. }
            | Self::MissingFirst { .. }
            | Self::UnaskedFirst { .. }
            | Self::Corrupted { .. }
            | Self::BadSample { .. }
            | Self::EngineFailed { .. }
            | Self::BadResponse { .. }
            | Self::Renamed { .. }
            | Self::Replaced { .. }
            | Self::Miscounted { .. }
            | Self::NoDigests { .. }
            | Self::NotLoaded(_)
            | Self::Unfit(_)
            | Self::Interrupted(_)
            | Self::Internal(_) => false,
        }
    }
}
