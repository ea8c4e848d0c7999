//! Errors of opening a connection, and the remedies and texts of peers in the messages about closed
//! connections.

use std::io;

use netdiv_node_common::{resources::descriptors, sanitise::sanitise_within};
use rustix::io::Errno;

/// Remedy where one end does not accept the certificate of the other.
pub(crate) const TLS_REMEDY: &str =
    "; check the TLS files on both sides (docs/OPERATING.md#secure-the-connections)";

/// Remedy where a node requires a certificate, and the client has none.
pub(crate) const CERTIFICATE_REMEDY: &str = "; the node requires a certificate of its clients: give --tls-certificate and --tls-key (from node to node \
     --fabric-certificate and --fabric-key)";

/// Maximum length of a peer's reason in a message, in bytes.
const MAX_REASON_BYTES: usize = 200;

/// Returns the reason with which a peer closed a connection for display, escaped and truncated.
pub(crate) fn peer_reason(reason: &[u8]) -> String {
    sanitise_within(MAX_REASON_BYTES, &String::from_utf8_lossy(reason))
}

/// Error of opening a connection.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum OpenError {
    /// The text is not an address.
    #[error("`{address}` is not an address of the form HOST:PORT: {why}")]
    BadAddress {
        /// Text that is not an address.
        address: String,
        why: String,
    },
    /// No node answers at the address, or not yet.
    #[error("no node answers at {address}: {why}")]
    Unreachable { address: String, why: String },
    /// A peer answers, but the client or the peer could not authenticate the other.
    #[error("authentication between {address} and this program failed: {why}")]
    Untrusted { address: String, why: String },
    /// This machine cannot open a socket, and waiting does not change that.
    #[error("cannot open a socket: {0}")]
    Local(String),
}

impl OpenError {
    /// Returns the error for a socket that cannot be opened, or cannot be connected to an address.
    ///
    /// Exhausted descriptors are final: waiting does not free them. Any other error may pass. A
    /// network or an address may become available (`ENETUNREACH`, `EADDRNOTAVAIL`), and memory and
    /// ports may become free (`ENOBUFS`, `EADDRNOTAVAIL`). A name may have other addresses than
    /// those of a family that this machine lacks (`EAFNOSUPPORT`) or that a router forbids
    /// (`EACCES`). Some load balancers return `EPERM` until a node is ready.
    pub(crate) fn of_socket(address: impl ToString, error: &io::Error) -> Self {
        if descriptors::are_exhausted(error) {
            return Self::Local(format!("{error}; {}", descriptors::REMEDY));
        }
        match Errno::from_io_error(error) {
            // The error was created by this program, such as one that names an option.
            None => Self::Local(error.to_string()),
            Some(_) => Self::Unreachable { address: address.to_string(), why: error.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_waiting_does_not_change_is_final() {
        for (error, is_final) in [
            (io::Error::from(Errno::MFILE), true),
            (Errno::NFILE.into(), true),
            (Errno::ACCESS.into(), false),
            (io::Error::other("--interface none0: No such device"), true),
            (Errno::CONNREFUSED.into(), false),
            (Errno::NETUNREACH.into(), false),
            (Errno::ADDRNOTAVAIL.into(), false),
            (Errno::AFNOSUPPORT.into(), false),
            (Errno::NOBUFS.into(), false),
            (Errno::PERM.into(), false),
        ] {
            let opened = OpenError::of_socket("node:1", &error);
            assert_eq!(matches!(opened, OpenError::Local(_)), is_final, "{opened}");
            assert!(opened.to_string().contains(&error.to_string()), "{opened}");
        }
        let few = OpenError::of_socket("node:1", &Errno::MFILE.into()).to_string();
        assert!(few.contains("ulimit -Hn"), "{few}");
    }
}
