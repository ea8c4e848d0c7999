//! How many connections a node takes, over both transports together. Only who has shown to be a client takes a place: with
//! TLS, or with the first bytes of HTTP/2 or QUIC's handshake. Handshakes are counted apart, so that strangers who never
//! finish one take nothing from those who are here.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::refusals::Refusals;

/// Handshakes that may be under way at the same time, for each transport: half of the 1,024 files that a process may have open
/// where nobody has changed that.
pub(crate) const MAX_HANDSHAKES: usize = 512;

/// How long a connection may keep its place without a call that is allowed, once places are scarce. A client opens
/// connections to all nodes before it calls one, and another node may be slow to start; while there are places, it may wait.
pub(crate) const FIRST_CALL: Duration = Duration::from_secs(10);

/// The places for connections. Clones are the same places.
#[derive(Debug, Clone)]
pub struct Connections(Arc<Places>);

#[derive(Debug)]
struct Places {
    open: AtomicUsize,
    most: usize,
    changed: fn(usize),
    refusals: Refusals,
}

/// A connection's place; free again with the value.
#[derive(Debug)]
pub(crate) struct Place(Connections);

impl Connections {
    /// Places for that many. `changed` is told how many are taken, each time.
    pub fn new(most: usize, changed: fn(usize)) -> Self {
        let open = AtomicUsize::new(0);
        Self(Arc::new(Places { open, most, changed, refusals: Refusals::default() }))
    }

    /// A place, if there is one; else the words of the refusal.
    pub(crate) fn take(&self) -> Result<Place, String> {
        let Places { open, most, changed, .. } = &*self.0;
        let more = |open| (open < *most).then_some(open + 1);
        match open.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more) {
            Ok(before) => {
                changed(before + 1);
                Ok(Place(self.clone()))
            }
            Err(_) => Err(format!(
                "the node has {most} connections and takes no more (--max-connections)"
            )),
        }
    }

    /// Whether more than half of the places are taken.
    pub(crate) fn are_scarce(&self) -> bool {
        self.0.open.load(Ordering::SeqCst) * 2 > self.0.most
    }

    /// From this many connections on, a client has to show that its address is its own before it costs anything.
    pub(crate) fn trusting(&self) -> usize {
        self.0.most.div_ceil(4)
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.0.refusals
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Places { open, changed, .. } = &*self.0.0;
        changed(open.fetch_sub(1, Ordering::SeqCst) - 1);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_and_come_back() {
        let connections = Connections::new(2, |_| ());
        let first = connections.take().unwrap();
        assert!(!connections.are_scarce());
        let second = connections.take().unwrap();
        assert!(connections.are_scarce());
        assert!(connections.clone().take().unwrap_err().contains("2 connections"));
        drop(first);
        drop((connections.take().unwrap(), second));
        assert_eq!(connections.0.open.load(Ordering::SeqCst), 0);
    }
}
