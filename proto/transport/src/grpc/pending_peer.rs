//! Limits on new connections, whose peers may not be clients. A peer may send nothing, or the
//! HTTP/2 preface and then no call that is admitted. It may also be a probe that asks for the
//! node's health every few seconds, for days.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep},
};

use crate::connections::{PeerConnection, STRANGER_BYTES};

/// Length of the preface that an HTTP/2 client sends first, in bytes (RFC 9113, section 3.4).
const PREFACE_BYTES: usize = 24;

/// Maximum time for a new connection to send the preface.
const PATIENCE: Duration = Duration::from_secs(5);

/// Rate at which a pending connection may send for any length of time, in bytes per second. A probe
/// sends a few hundred bytes per second.
const BYTES_PER_SECOND: f64 = 4096.0;

/// Maximum time from when the node stops reading from a pending connection until one of its calls
/// is admitted.
const FULL: Duration = Duration::from_secs(1);

type Awaited<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// State of a new connection at the node, until one of its calls is admitted.
pub(super) struct PendingPeer {
    /// Total number of bytes that the peer has sent.
    received: usize,
    lately: RecentBytes,
    /// Completes when the preface is overdue, or when the node ends.
    patience: Awaited<()>,
    judged: Awaited<Result<(), &'static str>>,
    /// Timer that starts when the node stops reading from the connection.
    full: Option<Pin<Box<Sleep>>>,
    /// Reason why the connection has to close.
    refused: Option<&'static str>,
}

/// Number of bytes that a peer has sent recently; it decreases by the rate at which the peer may
/// send.
#[derive(Debug, Clone, Copy)]
struct RecentBytes {
    bytes: f64,
    at: Instant,
}

impl RecentBytes {
    fn add(&mut self, bytes: usize, now: Instant) {
        let forgotten = now.saturating_duration_since(self.at).as_secs_f64() * BYTES_PER_SECOND;
        *self = Self { bytes: (self.bytes - forgotten).max(0.0) + bytes as f64, at: now };
    }

    /// Returns the number of bytes that the peer may still send now.
    fn room(self) -> usize {
        STRANGER_BYTES.saturating_sub(self.bytes.ceil() as usize)
    }
}

impl PendingPeer {
    pub(super) fn new(guest: &Arc<PeerConnection>, closing: watch::Receiver<bool>) -> Self {
        Self::with_patience(PATIENCE, guest, closing)
    }

    fn with_patience(
        preface: Duration,
        guest: &Arc<PeerConnection>,
        mut closing: watch::Receiver<bool>,
    ) -> Self {
        let patience = Box::pin(async move {
            tokio::select! {
                () = sleep(preface) => {}
                // A node that ends does not wait for peers that have not begun.
                _ = closing.wait_for(|closing| *closing) => {}
            }
        });
        let judged = Box::pin(guest.admission());
        let lately = RecentBytes { bytes: 0.0, at: Instant::now() };
        Self { received: 0, lately, patience, judged, full: None, refused: None }
    }

    /// Returns the number of bytes that the node may read from the peer now. Once it is 0, it stays
    /// 0 until a call is admitted.
    pub(super) fn room(&self) -> usize {
        self.lately.room()
    }

    /// Counts bytes that the peer has sent.
    pub(super) fn received(&mut self, bytes: usize) {
        self.received = self.received.saturating_add(bytes);
        self.lately.add(bytes, Instant::now());
    }

    /// Completes when a call of the peer is admitted, or with the reason why the connection is
    /// closed.
    pub(super) fn poll_judged(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.refused.is_none() {
            self.refused = match self.judged.as_mut().poll(context) {
                Poll::Ready(judged) => judged.err(),
                Poll::Pending => Some(ready!(self.poll_late(context))),
            };
        }
        Poll::Ready(match self.refused {
            None => Ok(()),
            Some(why) => Err(io::Error::new(io::ErrorKind::TimedOut, why)),
        })
    }

    /// Completes with the reason when the peer has taken too long for its next step: the preface,
    /// or an admitted call.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<&'static str> {
        if self.received < PREFACE_BYTES {
            ready!(self.patience.as_mut().poll(context));
            return Poll::Ready("the peer connected but did not start HTTP/2");
        }
        if self.room() > 0 {
            return Poll::Pending;
        }
        ready!(self.full.get_or_insert_with(|| Box::pin(sleep(FULL))).as_mut().poll(context));
        Poll::Ready("the peer sent more than a pending connection may, and had no admitted call")
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::timeout;

    use super::*;
    use crate::Connections;

    const SOON: Duration = Duration::from_millis(20);
    const NEVER: Duration = Duration::from_secs(3600);
    const HERE: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    struct Peer {
        newcomer: PendingPeer,
        guest: Arc<PeerConnection>,
        closing: watch::Sender<bool>,
    }

    fn peer(preface: Duration) -> Peer {
        let (closing, watching) = watch::channel(false);
        let guest = Connections::new(9, |_| ()).arrive(HERE);
        let newcomer = PendingPeer::with_patience(preface, &guest, watching);
        Peer { newcomer, guest, closing }
    }

    impl Peer {
        async fn judged(&mut self) -> io::Result<()> {
            poll_fn(|context| self.newcomer.poll_judged(context)).await
        }
    }

    #[tokio::test]
    async fn a_peer_that_sends_no_preface_has_to_go() {
        let mut peer = peer(SOON);
        peer.newcomer.received(PREFACE_BYTES - 1);
        for _ in 0..2 {
            let error = peer.judged().await.unwrap_err();
            assert!(error.to_string().contains("did not start HTTP/2"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_node_that_ends_does_not_wait_for_a_preface() {
        let mut peer = peer(NEVER);
        peer.closing.send_replace(true);
        assert!(peer.judged().await.is_err());
    }

    #[tokio::test]
    async fn a_peer_whose_call_was_let_in_is_a_newcomer_no_more() {
        let mut peer = peer(SOON);
        peer.newcomer.received(PREFACE_BYTES);
        assert!(timeout(SOON * 5, peer.judged()).await.is_err(), "it may wait");
        peer.guest.admit().unwrap();
        peer.judged().await.unwrap();
    }

    #[test]
    fn a_probe_may_send_for_days_and_a_flood_may_not() {
        let now = Instant::now();
        let mut lately = RecentBytes { bytes: 0.0, at: now };
        for second in 0..3 * 24 * 3600 {
            lately.add(500, now + Duration::from_secs(second));
            assert!(lately.room() > STRANGER_BYTES / 2);
        }
        lately.add(STRANGER_BYTES, lately.at);
        assert_eq!(lately.room(), 0);
        lately.add(0, lately.at + Duration::from_secs(1));
        assert_eq!(lately.room(), BYTES_PER_SECOND as usize - 500);
    }

    #[tokio::test]
    async fn so_much_is_read_of_a_stranger_and_then_it_has_to_go() {
        let mut sender = peer(NEVER);
        sender.newcomer.received(STRANGER_BYTES - 1);
        assert_eq!(sender.newcomer.room(), 1);
        assert!(timeout(SOON, sender.judged()).await.is_err(), "there is room");
        sender.newcomer.received(STRANGER_BYTES);
        assert_eq!(sender.newcomer.room(), 0);
        let error = sender.judged().await.unwrap_err();
        assert!(error.to_string().contains("more than a pending connection may"), "{error}");

        let mut client = peer(NEVER);
        client.newcomer.received(STRANGER_BYTES);
        assert!(timeout(SOON, client.judged()).await.is_err(), "its call is in progress");
        client.guest.admit().unwrap();
        client.judged().await.unwrap();
    }
}
