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
    /// It is ending, because a device is lost to the process, for this reason.
    Lost(String),
}

impl Condition {
    /// Whether it ends, for whatever reason.
    pub(crate) fn is_ending(&self) -> bool {
        matches!(self, Self::Ending(_) | Self::Lost(_))
    }

    /// Why a stream of samples is refused, if it is.
    pub(crate) fn refusal(&self) -> Option<Status> {
        match self {
            Self::Well | Self::Failing(_) => None,
            Self::Stuck(why) => Some(Status::unavailable(format!("the node is unwell: {why}"))),
            Self::Ending(signal) => Some(Status::unavailable(format!(
                "the node ends: it was asked to ({signal}); take another node, or start this one again"
            ))),
            Self::Lost(why) => Some(Status::unavailable(format!("the node ends: {why}"))),
        }
    }

    /// The status that ends a stream whose samples are all answered.
    pub(crate) fn farewell(&self) -> Option<Status> {
        match self {
            Self::Ending(signal) => Some(Status::unavailable(format!(
                "the node was asked to end ({signal}); what it had read is answered"
            ))),
            Self::Lost(why) => Some(Status::unavailable(format!(
                "the node ends: {why}; what it had read is answered"
            ))),
            _ => None,
        }
    }

    /// Waits until the node ends.
    pub(crate) async fn ending(condition: &mut watch::Receiver<Self>) {
        // The sender lives as long as the server.
        let _ = condition.wait_for(Self::is_ending).await;
    }

    /// Waits until a device is lost.
    pub(crate) async fn lost(condition: &mut watch::Receiver<Self>) {
        // As above.
        let _ = condition.wait_for(|it| matches!(it, Self::Lost(_))).await;
    }
}
