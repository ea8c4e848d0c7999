//! What a stream owes its client.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;
use tonic::Status;

/// What a stream owes its client: samples that were read, and bytes of replies that the transport has not taken. A client
/// that does not take its replies is not read from either, and takes no place from others.
#[derive(Debug)]
pub(crate) struct Backlog {
    samples: AtomicUsize,
    bytes: AtomicUsize,
    most_samples: usize,
    most_bytes: usize,
    less: Notify,
    /// What the client is told once all is answered, in place of a plain end.
    farewell: OnceLock<Status>,
}

impl Backlog {
    /// That of a stream that may owe so much.
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

    /// Notes samples that were read.
    pub(crate) fn read(&self, samples: usize) {
        self.samples.fetch_add(samples, Ordering::SeqCst);
    }

    /// Notes bytes of replies that the transport is to take.
    pub(crate) fn replied(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Samples that were read and whose replies the transport has not taken.
    pub(crate) fn owed(&self) -> usize {
        self.samples.load(Ordering::SeqCst)
    }

    /// Sets what the client is told once all is answered.
    pub(crate) fn set_farewell(&self, farewell: Status) {
        // The first one stays.
        let _ = self.farewell.set(farewell);
    }

    /// What the client is told once all is answered, if it is not a plain end.
    pub(crate) fn farewell(&self) -> Option<Status> {
        self.farewell.get().cloned()
    }

    /// Waits until the client has taken enough of its replies.
    pub(crate) async fn has_room(&self) {
        let owes_more = || self.samples.load(Ordering::SeqCst) < self.most_samples;
        self.until(|| owes_more() && !self.is_long()).await;
    }

    /// Whether the client has to take replies before its samples are begun.
    pub(crate) fn is_long(&self) -> bool {
        self.bytes.load(Ordering::SeqCst) >= self.most_bytes
    }

    /// Waits until it has. Samples that were read and not begun do not count.
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

    /// Notes replies that the transport has taken.
    pub(crate) fn taken(&self, samples: usize, bytes: usize) {
        self.samples.fetch_sub(samples, Ordering::SeqCst);
        self.bytes.fetch_sub(bytes, Ordering::SeqCst);
        self.less.notify_waiters();
    }
}
