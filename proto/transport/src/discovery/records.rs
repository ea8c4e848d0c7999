//! Addresses of a name in the DNS, from the system's resolver.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs as _},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::address::RESOLVER_HINT;

/// Address family to which the nodes of a name in the DNS are restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Any,
    V4,
    V6,
}

impl Family {
    /// Returns the addresses of this family, sorted and without duplicates, so that equal records
    /// make equal runs. Fails if no address is left.
    pub(super) fn of(self, mut all: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, String> {
        all.retain(|peer| match self {
            Self::Any => true,
            Self::V4 => peer.is_ipv4(),
            Self::V6 => peer.is_ipv6(),
        });
        all.sort_unstable();
        all.dedup();
        let what = match self {
            Self::Any => "address",
            Self::V4 => "IPv4 address",
            Self::V6 => "IPv6 address",
        };
        if all.is_empty() { Err(format!("it has no {what}")) } else { Ok(all) }
    }
}

/// Asks the system's resolver for the addresses of a name, and returns each with `port`. The
/// resolver has its own time limits and cannot be interrupted, so its answer is ignored after
/// `patience`.
pub(super) fn look_up(
    name: &str,
    port: u16,
    patience: Duration,
) -> Result<Vec<SocketAddr>, String> {
    let (answer, answered) = mpsc::sync_channel(1);
    let name = name.to_owned();
    let ask = move || {
        let found: io::Result<Vec<_>> =
            (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // The caller may have stopped waiting.
        let _ = answer.send(found);
    };
    let asking = thread::Builder::new().name("resolver".into()).spawn(ask);
    asking.map_err(|error| error.to_string())?;
    // A resolver that was asked in time gets a moment to answer from its cache or from /etc/hosts.
    match answered.recv_timeout(patience.max(Duration::from_millis(100))) {
        Ok(found) => found.map_err(|error| error.to_string()),
        Err(_) => Err(format!("the resolver does not answer{RESOLVER_HINT}")),
    }
}
