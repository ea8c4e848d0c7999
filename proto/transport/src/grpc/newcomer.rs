//! A new connection, which may not be from a client: the peer may send nothing, or the preface of HTTP/2 and then no call.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    time::sleep,
};

use crate::connections::{Connections, FIRST_CALL, Place};

/// Length of the preface that an HTTP/2 client sends first, in bytes (RFC 9113, section 3.4).
const PREFACE_BYTES: usize = 24;

/// How long a new connection may take to send it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Completes when the peer has taken too long.
type Patience = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What the node still waits for on a new connection.
pub(super) struct Newcomer {
    /// Bytes of the preface that are missing.
    missing: usize,
    peer: SocketAddr,
    /// Its permit for a handshake, until the preface is complete.
    turn: Option<OwnedSemaphorePermit>,
    connections: Connections,
    /// Set by the first authorized call.
    called: Arc<AtomicBool>,
    patience: Patience,
    first_call: Duration,
}

impl Newcomer {
    pub(super) fn new(
        peer: SocketAddr,
        turn: OwnedSemaphorePermit,
        connections: Connections,
        called: Arc<AtomicBool>,
        closing: watch::Receiver<bool>,
    ) -> Self {
        Self::with_patience(PATIENCE, FIRST_CALL, peer, turn, connections, called, closing)
    }

    fn with_patience(
        preface: Duration,
        first_call: Duration,
        peer: SocketAddr,
        turn: OwnedSemaphorePermit,
        connections: Connections,
        called: Arc<AtomicBool>,
        mut closing: watch::Receiver<bool>,
    ) -> Self {
        let patience = Box::pin(async move {
            tokio::select! {
                () = sleep(preface) => {}
                // A node that ends does not wait for peers that have not begun.
                _ = closing.wait_for(|closing| *closing) => {}
            }
        });
        let (missing, turn) = (PREFACE_BYTES, Some(turn));
        Self { missing, peer, turn, connections, called, patience, first_call }
    }

    /// Counts what the peer has sent. The complete preface takes a place.
    pub(super) fn received(&mut self, bytes: usize) -> io::Result<Option<Place>> {
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing > 0 || self.turn.take().is_none() {
            return Ok(None);
        }
        self.patience = Box::pin(sleep(self.first_call));
        self.connections.take().map(Some).map_err(|why| {
            self.connections.refusals().warn(self.peer, "a connection was refused", &why);
            io::Error::other(why)
        })
    }

    /// The peer sends nothing now. Ready when it has made an authorized call, or with the reason for closing the
    /// connection.
    pub(super) fn poll_silent(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.called.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        loop {
            ready!(self.patience.as_mut().poll(context));
            let too_late = |text| Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)));
            if self.missing > 0 {
                return too_late("the peer connected and did not begin to speak HTTP/2");
            }
            if self.connections.are_scarce() {
                return too_late("the peer made no authorized call, and places are scarce");
            }
            self.patience = Box::pin(sleep(self.first_call));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, net::Ipv4Addr};

    use tokio::{sync::Semaphore, time::timeout};

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const NEVER: Duration = Duration::from_secs(3600);

    struct Peer {
        newcomer: Newcomer,
        handshakes: Arc<Semaphore>,
        called: Arc<AtomicBool>,
        closing: watch::Sender<bool>,
    }

    /// A connection to a node with that many places.
    fn peer(places: usize, preface: Duration, first_call: Duration) -> Peer {
        let handshakes = Arc::new(Semaphore::new(1));
        let turn = handshakes.clone().try_acquire_owned().unwrap();
        let (connections, called) =
            (Connections::new(places, |_| ()), Arc::<AtomicBool>::default());
        let (closing, watching) = watch::channel(false);
        let address = (Ipv4Addr::LOCALHOST, 1).into();
        let newcomer = Newcomer::with_patience(
            preface,
            first_call,
            address,
            turn,
            connections,
            called.clone(),
            watching,
        );
        Peer { newcomer, handshakes, called, closing }
    }

    impl Peer {
        async fn silent(&mut self) -> io::Result<()> {
            poll_fn(|context| self.newcomer.poll_silent(context)).await
        }
    }

    #[tokio::test]
    async fn a_peer_that_sends_no_preface_has_to_go() {
        let mut peer = peer(9, SOON, NEVER);
        assert!(peer.newcomer.received(PREFACE_BYTES - 1).unwrap().is_none());
        let error = peer.silent().await.unwrap_err();
        assert!(error.to_string().contains("did not begin to speak HTTP/2"), "{error}");
    }

    #[tokio::test]
    async fn a_node_that_ends_does_not_wait_for_a_preface() {
        let mut peer = peer(9, NEVER, NEVER);
        peer.closing.send_replace(true);
        assert!(peer.silent().await.is_err());
    }

    #[tokio::test]
    async fn the_preface_ends_the_handshake_and_takes_a_place() {
        let mut peer = peer(1, NEVER, NEVER);
        assert!(peer.newcomer.received(PREFACE_BYTES - 1).unwrap().is_none());
        assert_eq!(peer.handshakes.available_permits(), 0);
        let place = peer.newcomer.received(1).unwrap();
        assert!(place.is_some());
        assert_eq!(peer.handshakes.available_permits(), 1);
        assert!(peer.newcomer.received(9).unwrap().is_none(), "one place for a connection");
        assert!(peer.newcomer.connections.take().is_err());
    }

    #[tokio::test]
    async fn a_node_that_is_full_refuses_after_the_preface() {
        let mut peer = peer(0, NEVER, NEVER);
        let error = peer.newcomer.received(PREFACE_BYTES).err().unwrap();
        assert!(error.to_string().contains("--max-connections"), "{error}");
    }

    #[tokio::test]
    async fn a_peer_that_makes_no_call_has_to_go_once_places_are_scarce() {
        // Of one place, one is taken.
        let mut scarce = peer(1, NEVER, SOON);
        let _place = scarce.newcomer.received(PREFACE_BYTES).unwrap();
        let error = scarce.silent().await.unwrap_err();
        assert!(error.to_string().contains("no authorized call"), "{error}");

        let mut roomy = peer(9, NEVER, SOON);
        let _place = roomy.newcomer.received(PREFACE_BYTES).unwrap();
        assert!(timeout(SOON * 5, roomy.silent()).await.is_err(), "it may wait");
        roomy.called.store(true, Ordering::Relaxed);
        assert!(roomy.silent().await.is_ok(), "it is a newcomer no more");
    }
}
