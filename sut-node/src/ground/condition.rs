//! The node's condition: whether it accepts calls, and the reason if it does not.

use tokio::sync::watch;
use tonic::Status;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The node serves.
    Well,
    /// Batch after batch fails. The node still accepts calls: a batch that succeeds shows that it
    /// has recovered.
    Failing(String),
    /// An engine hangs in a batch.
    Stuck(String),
    /// The node is ending after this signal.
    Ending(&'static str),
    /// The node is ending because a device is lost to the process, for this reason.
    Lost(String),
}

impl Condition {
    /// True if the node is ending, for whatever reason.
    pub(crate) fn is_ending(&self) -> bool {
        matches!(self, Self::Ending(_) | Self::Lost(_))
    }

    /// Returns the status that refuses a stream of samples; `None` if the node accepts it.
    pub(crate) fn refusal(&self) -> Option<Status> {
        match self {
            Self::Well | Self::Failing(_) => None,
            Self::Stuck(why) => Some(Status::unavailable(format!("the node is unwell: {why}"))),
            Self::Ending(signal) => Some(Status::unavailable(format!(
                "the node was asked to end ({signal}); use another node, or restart this one"
            ))),
            Self::Lost(why) => Some(Status::unavailable(format!("the node ends: {why}"))),
        }
    }

    /// Returns the status that ends a stream whose samples are all answered; `None` if the node is
    /// not ending.
    pub(crate) fn closing_status(&self) -> Option<Status> {
        match self {
            Self::Ending(signal) => Some(Status::unavailable(format!(
                "the node was asked to end ({signal}); everything that it had read is answered"
            ))),
            Self::Lost(why) => Some(Status::unavailable(format!(
                "the node ends: {why}; everything that it had read is answered"
            ))),
            _ => None,
        }
    }

    /// Waits until the node begins to end.
    pub(crate) async fn ending(condition: &mut watch::Receiver<Self>) {
        // The sender lives as long as the server.
        let _ = condition.wait_for(Self::is_ending).await;
    }

    /// Waits until a device is lost.
    pub(crate) async fn lost(condition: &mut watch::Receiver<Self>) {
        // The sender lives as long as the server.
        let _ = condition.wait_for(|it| matches!(it, Self::Lost(_))).await;
    }
}
