//! Why a connection could not be opened.

use std::io;

use netdiv_node_common::resources::descriptors;
use rustix::io::Errno;

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
    /// This machine makes no connection, and waiting does not change that.
    #[error("cannot make a socket: {0}")]
    Local(String),
}

impl OpenError {
    /// The error of a socket that cannot be opened or connected to an address.
    ///
    /// Exhausted descriptors are final: waiting does not free them. Any other error may pass: a network or an address comes up
    /// (`ENETUNREACH`, `EADDRNOTAVAIL`), memory and ports become free (`ENOBUFS`, `EADDRNOTAVAIL`), a name has other addresses
    /// than those of a family that this machine lacks (`EAFNOSUPPORT`) or a router forbids (`EACCES`), and some load balancers
    /// answer `EPERM` until a node is ready.
    pub(crate) fn of_socket(address: impl ToString, error: &io::Error) -> Self {
        if descriptors::are_exhausted(error) {
            return Self::Local(format!("{error}; {}", descriptors::REMEDY));
        }
        match Errno::from_io_error(error) {
            // One of this program's own words, such as the name of an option.
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
