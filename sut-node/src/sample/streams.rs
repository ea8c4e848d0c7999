//! Open streams, and the replies that the node owes them.

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

/// Maximum number of streams of samples, over all connections. Each may hold an incomplete message
/// of up to a megabyte, so that all of them together hold a quarter of a gigabyte.
pub(crate) const MAX_STREAMS: usize = 256;

/// Message of an engine to a stream: the replies of a batch, or the stream's end.
pub(crate) type Burst = Result<Vec<InferResponse>, Status>;

/// Open streams of a node.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    open: Mutex<BTreeMap<u64, WaitingStream>>,
    count: watch::Sender<usize>,
    next: AtomicU64,
    /// Number of samples whose replies the transports have accepted, since the start.
    answered: AtomicU64,
}

/// Entry of a stream in [`Streams`]. It is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream {
    streams: Arc<Streams>,
    number: u64,
}

/// Open stream, with a sender that does not keep it open.
#[derive(Debug)]
pub(crate) struct WaitingStream {
    sender: mpsc::WeakSender<Burst>,
    backlog: Arc<Backlog>,
}

impl WaitingStream {
    pub(crate) fn new(sender: &mpsc::Sender<Burst>, backlog: &Arc<Backlog>) -> Self {
        Self { sender: sender.downgrade(), backlog: backlog.clone() }
    }

    /// Returns the number of samples that were read and whose replies the transport has not
    /// accepted.
    pub(crate) fn owed(&self) -> usize {
        self.backlog.owed()
    }

    /// Ends the stream with an error. Returns false if there is no room for the error, or if the
    /// stream is ending anyway.
    pub(crate) fn fail(&self, status: &Status) -> bool {
        self.sender.upgrade().is_some_and(|sender| sender.try_send(Err(status.clone())).is_ok())
    }
}

impl Streams {
    /// Adds a stream; `None` if the maximum is reached.
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

    /// Returns the number of samples that were read and whose replies no transport has accepted.
    pub(crate) fn owed(&self) -> usize {
        self.open.lock().values().map(WaitingStream::owed).sum()
    }

    /// Returns the number of samples whose replies the transports have accepted.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Ends each stream that waits for replies, at once. Returns the number of these streams.
    pub(crate) fn fail_waiting(&self, status: &Status) -> usize {
        let open = self.open.lock();
        open.values().filter(|stream| stream.owed() > 0 && stream.fail(status)).count()
    }

    /// Waits until no stream is open.
    pub(crate) async fn wait_until_closed(&self) {
        // The sender lives as long as `self`.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl OpenStream {
    /// Counts replies that the transport has accepted.
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
