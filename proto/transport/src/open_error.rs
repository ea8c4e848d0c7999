//! Why a connection could not be opened.

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Not an address.
    #[error("`{address}` is not an address of the form HOST:PORT: {why}")]
    BadAddress {
        /// The text.
        address: String,
        /// The reason.
        why: String,
    },
    /// No node answers there, or not yet.
    #[error("no node answers at {address}: {why}")]
    Unreachable {
        /// The address.
        address: String,
        /// What the transport says.
        why: String,
    },
    /// A peer answers, but one end does not trust the other.
    #[error("{address} and this program do not trust each other: {why}")]
    Untrusted {
        /// The address.
        address: String,
        /// What TLS says.
        why: String,
    },
    /// The socket could not be created.
    #[error("cannot make a socket: {0}")]
    Local(String),
}
