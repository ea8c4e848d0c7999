//! Backlog: the samples and replies that a stream owes its client.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;
use tonic::Status;

/// Backlog of a stream: samples that were read, and bytes of replies that the transport has not
/// accepted. The node does not read from a client that does not read its replies, so such a client
/// takes no room from others.
#[derive(Debug)]
pub(crate) struct Backlog {
    samples: AtomicUsize,
    bytes: AtomicUsize,
    most_samples: usize,
    most_bytes: usize,
    less: Notify,
    /// Status that the client receives after all replies, instead of a plain end.
    farewell: OnceLock<Status>,
}

impl Backlog {
    /// Creates the backlog of a stream, with its limits.
    pub(crate) fn new(most_samples: usize, most_bytes: usize) -> Self {
        Self {
            samples: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            most_samples: most_samples.max(1),
            most_bytes: most_bytes.max(1),
            less: Notify::new(),
            farewell: OnceLock::new(),
        }
    }

    /// Counts samples that were read.
    pub(crate) fn add_samples(&self, samples: usize) {
        self.samples.fetch_add(samples, Ordering::SeqCst);
    }

    /// Counts bytes of replies that wait for the transport.
    pub(crate) fn add_reply_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Returns the number of samples that were read and whose replies the transport has not
    /// accepted.
    pub(crate) fn owed(&self) -> usize {
        self.samples.load(Ordering::SeqCst)
    }

    /// Sets the status that the client receives after all replies.
    pub(crate) fn set_closing_status(&self, farewell: Status) {
        // The first status stays.
        let _ = self.farewell.set(farewell);
    }

    /// Returns the status that the client receives after all replies; `None`: a plain end.
    pub(crate) fn closing_status(&self) -> Option<Status> {
        self.farewell.get().cloned()
    }

    /// Waits until the client has read enough of its replies.
    pub(crate) async fn has_room(&self) {
        let owes_more = || self.samples.load(Ordering::SeqCst) < self.most_samples;
        self.until(|| owes_more() && !self.is_long()).await;
    }

    /// True if the client must read replies before its samples are admitted.
    pub(crate) fn is_long(&self) -> bool {
        self.bytes.load(Ordering::SeqCst) >= self.most_bytes
    }

    /// Waits until [`Self::is_long`] is false. Samples that were read and not admitted do not
    /// count.
    pub(crate) async fn is_short(&self) {
        self.until(|| !self.is_long()).await;
    }

    async fn until(&self, condition: impl Fn() -> bool) {
        loop {
            let less = self.less.notified();
            if condition() {
                return;
            }
            less.await;
        }
    }

    /// Subtracts replies that the transport has accepted.
    pub(crate) fn subtract_sent(&self, samples: usize, bytes: usize) {
        self.samples.fetch_sub(samples, Ordering::SeqCst);
        self.bytes.fetch_sub(bytes, Ordering::SeqCst);
        self.less.notify_waiters();
    }
}
