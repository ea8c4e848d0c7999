//! The limit on a node's connections, over both transports together. A connection takes a place only after its handshake:
//! TLS, the preface of HTTP/2, or the handshake of QUIC. Handshakes have a limit of their own, so that peers who never
//! finish one take no place from clients.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Semaphore;

use crate::refusals::Refusals;

/// Concurrent handshakes, for each transport: half of the 1,024 files that a process may have open by default.
const MAX_HANDSHAKES: usize = 512;

/// How long a connection may keep its place without an authorized call, once places are scarce. A client opens connections
/// to all nodes before its first call, and another node may be slow to start; as long as places are free, it may wait.
pub(crate) const FIRST_CALL: Duration = Duration::from_secs(10);

/// The places for connections. Clones are the same places.
#[derive(Debug, Clone)]
pub struct Connections(Arc<Places>);

#[derive(Debug)]
struct Places {
    open: AtomicUsize,
    most: usize,
    handshakes: usize,
    changed: fn(usize),
    refusals: Refusals,
}

/// A connection's place, which becomes free when this is dropped.
#[derive(Debug)]
pub(crate) struct Place(Connections);

impl Connections {
    /// Places for that many connections. `changed` is told the number of open connections each time it changes.
    pub fn new(most: usize, changed: fn(usize)) -> Self {
        Self::with_handshakes(most, MAX_HANDSHAKES, changed)
    }

    /// The same, with another limit for handshakes.
    pub(crate) fn with_handshakes(most: usize, handshakes: usize, changed: fn(usize)) -> Self {
        let (open, refusals) = (AtomicUsize::new(0), Refusals::default());
        Self(Arc::new(Places { open, most, handshakes, changed, refusals }))
    }

    /// Turns for the handshakes of one transport.
    pub(crate) fn handshakes(&self) -> Arc<Semaphore> {
        Arc::new(Semaphore::new(self.0.handshakes))
    }

    /// Takes a place; if there is none, the error is the text of the refusal.
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

    /// From this many connections on, a client must prove its address before the node spends anything on it.
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
