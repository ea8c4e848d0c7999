//! A connection that has not shown yet that it is one of a client: it may send nothing, or the first bytes of HTTP/2 and
//! then no call.

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

/// What a client of HTTP/2 sends first, in bytes (RFC 9113, section 3.4).
const PREFACE_BYTES: usize = 24;

/// How long a new connection may take to send that.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends when nobody waits any longer.
type Patience = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What is expected of a new connection.
pub(super) struct Newcomer {
    /// Bytes of the preface that have not come.
    missing: usize,
    peer: SocketAddr,
    /// Its turn among the handshakes, until then.
    turn: Option<OwnedSemaphorePermit>,
    connections: Connections,
    /// Turns true with the first call that is allowed.
    called: Arc<AtomicBool>,
    patience: Patience,
}

impl Newcomer {
    pub(super) fn new(
        peer: SocketAddr,
        turn: OwnedSemaphorePermit,
        connections: Connections,
        called: Arc<AtomicBool>,
        mut closing: watch::Receiver<bool>,
    ) -> Self {
        let patience = Box::pin(async move {
            tokio::select! {
                () = sleep(PATIENCE) => {}
                // A node that ends does not wait for those who have not begun.
                _ = closing.wait_for(|closing| *closing) => {}
            }
        });
        Self { missing: PREFACE_BYTES, peer, turn: Some(turn), connections, called, patience }
    }

    /// Notes what the peer has sent. With the end of its preface it gets its place.
    pub(super) fn received(&mut self, bytes: usize) -> io::Result<Option<Place>> {
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing > 0 || self.turn.take().is_none() {
            return Ok(None);
        }
        self.patience = Box::pin(sleep(FIRST_CALL));
        self.connections.take().map(Some).map_err(|why| {
            self.connections.refusals().warn(self.peer, "a connection was refused", &why);
            io::Error::other(why)
        })
    }

    /// The peer sends nothing now. Ready when it is a newcomer no more, or with the reason why it has to go.
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
                return too_late(
                    "the peer made no call that is allowed, and others want its place",
                );
            }
            self.patience = Box::pin(sleep(FIRST_CALL));
        }
    }
}
