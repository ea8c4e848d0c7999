//! The streams that are open, and what the node owes them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::watch;
use tonic::Status;

use crate::{
    lock,
    replies::{ReplySender, WeakReplySender},
};

/// Streams of samples at the same time, over all connections. Each may hold a message of up to a megabyte of which the rest
/// has not come, so that all of them together hold a quarter of a gigabyte.
pub(crate) const MAX_STREAMS: usize = 256;

/// The open streams of a node.
#[derive(Debug)]
pub(crate) struct Streams {
    open: Mutex<BTreeMap<u64, WeakReplySender>>,
    count: watch::Sender<usize>,
    next: AtomicU64,
    /// Samples whose replies the transports have taken, since the start.
    answered: AtomicU64,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            count: watch::Sender::new(0),
            next: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        }
    }
}

/// A stream's entry; gone with the value.
#[derive(Debug)]
pub(crate) struct OpenStream {
    streams: Arc<Streams>,
    number: u64,
}

impl Streams {
    /// Notes a stream; `None` when there are as many as there may be.
    pub(crate) fn add(self: &Arc<Self>, sender: &ReplySender) -> Option<OpenStream> {
        let mut open = lock(&self.open);
        if open.len() >= MAX_STREAMS {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        open.insert(number, sender.downgrade());
        self.count.send_replace(open.len());
        Some(OpenStream { streams: self.clone(), number })
    }

    /// Samples that were read and whose replies no transport has taken.
    pub(crate) fn owed(&self) -> usize {
        lock(&self.open).values().map(WeakReplySender::owed).sum()
    }

    /// Samples whose replies the transports have taken.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Ends each stream that waits for replies, at once; returns how many they were.
    pub(crate) fn fail_waiting(&self, status: &Status) -> usize {
        let open = lock(&self.open);
        open.values().filter(|stream| stream.owed() > 0 && stream.fail(status)).count()
    }

    /// Waits until no stream is open.
    pub(crate) async fn none_open(&self) {
        // The sender lives as long as this.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl OpenStream {
    /// Notes replies that the transport has taken.
    pub(crate) fn answered(&self, samples: usize) {
        self.streams.answered.fetch_add(samples as u64, Ordering::Relaxed);
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = lock(&self.streams.open);
        open.remove(&self.number);
        self.streams.count.send_replace(open.len());
    }
}
