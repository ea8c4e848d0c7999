//! The open streams, and the replies that the node owes them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use netdiv_contract::v1::InferResponse;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tonic::Status;

use crate::sample::backlog::Backlog;

/// Streams of samples at the same time, over all connections. Each may hold a message of up to a megabyte of which the rest
/// has not come, so that all of them together hold a quarter of a gigabyte.
pub(crate) const MAX_STREAMS: usize = 256;

/// What an engine sends to a stream: the replies of a batch, or the stream's end.
pub(crate) type Burst = Result<Vec<InferResponse>, Status>;

/// The open streams of a node.
#[derive(Debug)]
pub(crate) struct Streams {
    open: Mutex<BTreeMap<u64, WaitingStream>>,
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

/// An open stream, as a sender that does not keep it open.
#[derive(Debug)]
pub(crate) struct WaitingStream {
    sender: mpsc::WeakSender<Burst>,
    backlog: Arc<Backlog>,
}

impl WaitingStream {
    pub(crate) fn new(sender: &mpsc::Sender<Burst>, backlog: &Arc<Backlog>) -> Self {
        Self { sender: sender.downgrade(), backlog: backlog.clone() }
    }

    /// Samples that were read and whose replies the transport has not taken.
    pub(crate) fn owed(&self) -> usize {
        self.backlog.owed()
    }

    /// Ends the stream with an error; false when there is no room for one, or its end is near anyway.
    pub(crate) fn fail(&self, status: &Status) -> bool {
        self.sender.upgrade().is_some_and(|sender| sender.try_send(Err(status.clone())).is_ok())
    }
}

impl Streams {
    /// Notes a stream; `None` when there are as many as there may be.
    pub(crate) fn add(self: &Arc<Self>, stream: WaitingStream) -> Option<OpenStream> {
        let mut open = self.open.lock();
        if open.len() >= MAX_STREAMS {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        open.insert(number, stream);
        self.count.send_replace(open.len());
        Some(OpenStream { streams: self.clone(), number })
    }

    /// Samples that were read and whose replies no transport has taken.
    pub(crate) fn owed(&self) -> usize {
        self.open.lock().values().map(WaitingStream::owed).sum()
    }

    /// Samples whose replies the transports have taken.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Ends each stream that waits for replies, at once; returns how many they were.
    pub(crate) fn fail_waiting(&self, status: &Status) -> usize {
        let open = self.open.lock();
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
        let mut open = self.streams.open.lock();
        open.remove(&self.number);
        self.streams.count.send_replace(open.len());
    }
}
