//! Errors that prevent a run from starting, and their remedies.

use std::time::Duration;

use netdiv_transport::{Http2Close, OpenError};

/// Error that prevents a run from starting.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ConnectError {
    /// The address is invalid, authentication failed, or a socket could not be opened.
    #[error(transparent)]
    Open(OpenError),
    /// No node answers at the address.
    #[error(
        "no node answers at {address}: {why}; start sut-node there, open its port, or raise --connect-timeout if it is still loading"
    )]
    Unreachable { address: String, why: String },
    /// An HTTP/2 peer ended the call or its connection, with a code.
    #[error("no SUT node answers at {address}: {close}")]
    Closed { address: String, close: Http2Close },
    /// The peer accepts the connection but sends no answer.
    #[error(
        "{address} accepts connections but has not answered for {} s; if the node is slow or still loading its model, raise \
         {option}",
        waited.as_secs_f64()
    )]
    Silent { address: String, waited: Duration, option: &'static str },
    /// The node already has its maximum number of connections or streams.
    #[error("{address} has no room: {why}; stop another of its clients, or raise the limit there")]
    Full { address: String, why: String },
    /// The nodes and the settings do not fit together, or a server is not a SUT node.
    #[error("{0}")]
    Unfit(String),
    /// A thread or socket could not be created on this machine.
    #[error("cannot start the network threads: {0}")]
    Local(String),
}

impl ConnectError {
    /// Returns true if no node answered, and false if a node or another server gave an unsuitable
    /// answer.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Closed { .. } | Self::Silent { .. })
    }
}

impl From<OpenError> for ConnectError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Unreachable { address, why } => Self::Unreachable { address, why },
            error => Self::Open(error),
        }
    }
}
