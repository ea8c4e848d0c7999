//! The way back: engine threads hand a stream all its replies of a batch at once; the transport takes them as
//! chunks.

use std::{
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    vec,
};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_proto::{burst, checksum, framing::Encoder, v1::InferResponse};
use tokio::sync::{Notify, mpsc};
use tonic::Status;

use crate::{
    digests::Digests,
    metrics,
    sessions::Session,
    streams::{OpenStream, Streams},
};

/// Where the replies to a sample go.
#[derive(Clone)]
pub(crate) enum ReplyTo {
    /// To a stream of a client.
    Stream(ReplySender),
    /// To a function of this process.
    Here(Arc<Answered>),
}

type Answered = dyn Fn(Vec<InferResponse>) + Send + Sync;

impl ReplyTo {
    pub(crate) fn here(answered: impl Fn(Vec<InferResponse>) + Send + Sync + 'static) -> Self {
        Self::Here(Arc::new(answered))
    }

    /// Sends replies. Those of a client that has gone are dropped; it cannot take them.
    pub(crate) fn send(&self, replies: Vec<InferResponse>) {
        match self {
            Self::Stream(stream) => stream.send(replies),
            Self::Here(answered) => answered(replies),
        }
    }

    /// Where digests of the responses are kept, if they are.
    pub(crate) fn digests(&self) -> Option<&Digests> {
        match self {
            Self::Stream(stream) => stream.digests.as_deref(),
            Self::Here(_) => None,
        }
    }

    /// Whether the client has gone.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Stream(stream) => stream.sender.is_closed(),
            Self::Here(_) => false,
        }
    }

    /// Whether replies to both go the same way.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stream(one), Self::Stream(other)) => one.sender.same_channel(&other.sender),
            (Self::Here(one), Self::Here(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// Where the replies of one stream go.
#[derive(Debug, Clone)]
pub(crate) struct ReplySender {
    sender: mpsc::Sender<Result<Vec<InferResponse>, Status>>,
    backlog: Arc<Backlog>,
    digests: Option<Arc<Digests>>,
    /// Whether every reply has a checksum.
    checksums: bool,
}

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
    /// Notes samples that were read.
    pub(crate) fn read(&self, samples: usize) {
        self.samples.fetch_add(samples, Ordering::SeqCst);
    }

    /// Waits until the client has taken enough of its replies.
    pub(crate) async fn has_room(&self) {
        loop {
            let less = self.less.notified();
            let samples = self.samples.load(Ordering::SeqCst);
            if samples < self.most_samples && self.bytes.load(Ordering::SeqCst) < self.most_bytes {
                return;
            }
            less.await;
        }
    }

    fn taken(&self, samples: usize, bytes: usize) {
        self.samples.fetch_sub(samples, Ordering::SeqCst);
        self.bytes.fetch_sub(bytes, Ordering::SeqCst);
        self.less.notify_waiters();
    }
}

/// The response stream, as chunks.
#[derive(Debug)]
pub(crate) struct Replies {
    receiver: mpsc::Receiver<Result<Vec<InferResponse>, Status>>,
    backlog: Arc<Backlog>,
    burst: vec::IntoIter<InferResponse>,
    encoder: Encoder,
    /// A client may end its half and flush while replies are still to come.
    _session: Arc<Session>,
    open: OpenStream,
}

/// The two ends. The stream is not read while it owes as many replies as the node takes in, so each of the samples that
/// it can owe, with a burst more, finds room; and so does one error. `None` when too many streams are open.
pub(crate) fn channel(
    streams: &Arc<Streams>,
    max_samples: usize,
    max_bytes: usize,
    session: Arc<Session>,
    checksums: bool,
) -> Option<(ReplySender, Replies)> {
    let (sender, receiver) = mpsc::channel(max_samples + burst::MESSAGES + 1);
    let backlog = Arc::new(Backlog {
        samples: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
        most_samples: max_samples.max(1),
        most_bytes: max_bytes.max(1),
        less: Notify::new(),
        farewell: OnceLock::new(),
    });
    let digests = session.digests().cloned();
    let sender = ReplySender { sender, backlog: backlog.clone(), digests, checksums };
    let open = streams.add(&sender)?;
    let replies = Replies {
        receiver,
        backlog,
        burst: Vec::new().into_iter(),
        encoder: Encoder::default(),
        _session: session,
        open,
    };
    Some((sender, replies))
}

impl ReplySender {
    /// Sends replies. Those of a client that has gone are dropped; it cannot take them.
    pub(crate) fn send(&self, mut replies: Vec<InferResponse>) {
        if self.checksums {
            for reply in &mut replies {
                reply.crc32c = Some(checksum::of_response(reply));
            }
        }
        let bytes: usize = replies.iter().map(|reply| reply.payload.len()).sum();
        self.backlog.bytes.fetch_add(bytes, Ordering::SeqCst);
        let samples = replies.len();
        if self.sender.try_send(Ok(replies)).is_err() {
            metrics::abandoned(samples);
        }
    }

    /// Ends the stream with an error, without the replies that are still to come.
    pub(crate) fn fail(&self, status: Status) {
        let _ = self.sender.try_send(Err(status));
    }

    /// Ends the stream with an error once all that was read is answered.
    pub(crate) fn end_with(&self, farewell: Status) {
        let _ = self.backlog.farewell.set(farewell);
    }

    pub(crate) fn downgrade(&self) -> WeakReplySender {
        WeakReplySender { sender: self.sender.downgrade(), backlog: self.backlog.clone() }
    }

    /// Waits until the client has gone.
    pub(crate) async fn closed(&self) {
        self.sender.closed().await;
    }

    /// Whether the stream's messages have checksums, either way.
    pub(crate) fn has_checksums(&self) -> bool {
        self.checksums
    }

    pub(crate) fn backlog(&self) -> &Backlog {
        &self.backlog
    }
}

/// A sender that does not keep its stream open.
#[derive(Debug)]
pub(crate) struct WeakReplySender {
    sender: mpsc::WeakSender<Result<Vec<InferResponse>, Status>>,
    backlog: Arc<Backlog>,
}

impl WeakReplySender {
    /// Samples that were read and whose replies the transport has not taken.
    pub(crate) fn owed(&self) -> usize {
        self.backlog.samples.load(Ordering::SeqCst)
    }

    /// Ends the stream with an error; false when there is no room for one, or its end is near anyway.
    pub(crate) fn fail(&self, status: &Status) -> bool {
        self.sender.upgrade().is_some_and(|sender| sender.try_send(Err(status.clone())).is_ok())
    }
}

impl Replies {
    /// Encodes what is left of a batch, up to a limit.
    fn encode(&mut self) {
        let (mut samples, mut bytes) = (0, 0);
        while bytes < burst::BYTES
            && let Some(response) = self.burst.next()
        {
            samples += 1;
            bytes += response.payload.len();
            self.encoder.push(response);
        }
        if samples > 0 {
            self.backlog.taken(samples, bytes);
            self.open.answered(samples);
        }
    }
}

impl Stream for Replies {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(chunk) = self.encoder.next_chunk() {
                return Poll::Ready(Some(Ok(chunk)));
            }
            self.encode();
            if self.encoder.is_empty() {
                match ready!(self.receiver.poll_recv(context)) {
                    Some(Ok(burst)) => self.burst = burst.into_iter(),
                    Some(Err(status)) => return Poll::Ready(Some(Err(status))),
                    None => return Poll::Ready(self.backlog.farewell.get().cloned().map(Err)),
                }
            }
        }
    }
}
