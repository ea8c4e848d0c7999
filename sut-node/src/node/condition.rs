//! Whether the node takes calls, and the reason when it does not.

use tokio::sync::watch;
use tonic::Status;

/// The condition of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// It serves.
    Well,
    /// Batch after batch fails. Calls are still taken: one batch that succeeds shows that it has recovered.
    Failing(String),
    /// An engine hangs in a batch.
    Stuck(String),
    /// It is ending, after this signal.
    Ending(&'static str),
}

impl Condition {
    /// Why a stream of samples is refused, if it is.
    pub(crate) fn refusal(&self) -> Option<Status> {
        match self {
            Self::Well | Self::Failing(_) => None,
            Self::Stuck(why) => Some(Status::unavailable(format!("the node is unwell: {why}"))),
            Self::Ending(signal) => Some(Status::unavailable(format!(
                "the node ends: it was asked to ({signal}); take another node, or start this one again"
            ))),
        }
    }

    /// The status that ends a stream whose samples are all answered.
    pub(crate) fn farewell(&self) -> Option<Status> {
        match self {
            Self::Ending(signal) => Some(Status::unavailable(format!(
                "the node was asked to end ({signal}); what it had read is answered"
            ))),
            _ => None,
        }
    }

    /// Waits until the node is asked to end.
    pub(crate) async fn ending(condition: &mut watch::Receiver<Self>) {
        // The sender lives as long as the server.
        let _ = condition.wait_for(|condition| matches!(condition, Self::Ending(_))).await;
    }
}
