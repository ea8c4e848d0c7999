//! Chunks of a call over QUIC: a stream of the received chunks, a function that sends chunks, and
//! the replies to a client's requests.

use std::{
    collections::VecDeque,
    future::{Future as _, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_contract::burst;
use quinn::{RecvStream, SendStream, VarInt, WriteError};
use tokio::{
    sync::oneshot,
    time::{Instant, Sleep, sleep},
};
use tonic::Status;

use super::ending::explain;

/// Maximum number of chunks that are read from or written to quinn together, because each such
/// operation locks the connection.
const CHUNKS: usize = 32;

/// Code with which a program stops reading a call on which it may still send. A node then answers
/// the requests that it has read, and sends the reason.
const MORE_FOLLOWS: VarInt = VarInt::from_u32(1);

pub(crate) struct ReceivedChunks {
    stream: RecvStream,
    ready: VecDeque<Bytes>,
}

impl ReceivedChunks {
    pub(super) fn new(stream: RecvStream) -> Self {
        Self { stream, ready: VecDeque::with_capacity(CHUNKS) }
    }
}

impl Drop for ReceivedChunks {
    fn drop(&mut self) {
        // The stream may have ended already.
        let _ = self.stream.stop(MORE_FOLLOWS);
    }
}

impl Stream for ReceivedChunks {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(chunk) = self.ready.pop_front() {
            return Poll::Ready(Some(Ok(chunk)));
        }
        let mut chunks: [Bytes; CHUNKS] = Default::default();
        // The stream keeps the waker, not this future.
        let count = match ready!(pin!(self.stream.read_chunks(&mut chunks)).poll(context)) {
            Ok(Some(count)) => count,
            Ok(None) => return Poll::Ready(None),
            Err(error) => {
                return Poll::Ready(Some(Err(Status::unavailable(explain(&error)))));
            }
        };
        self.ready.extend(chunks.into_iter().take(count));
        Poll::Ready(self.ready.pop_front().map(Ok))
    }
}

/// Sends `chunks` on a QUIC stream as they become ready, until `chunks` ends or yields an error.
/// The inner result is this error; the outer error occurs if QUIC cannot send. Chunks that are
/// ready are sent together, but only up to a number of bytes: a chunk that was taken from `chunks`
/// no longer counts in its backlog.
pub(super) async fn send_all<S, E>(
    stream: &mut SendStream,
    mut chunks: S,
) -> Result<Result<(), E>, WriteError>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    let mut ready = Vec::with_capacity(CHUNKS);
    loop {
        let mut bytes = 0;
        let end = poll_fn(|context| {
            while ready.len() < CHUNKS && bytes < burst::MAX_BURST_BYTES {
                match Pin::new(&mut chunks).poll_next(context) {
                    Poll::Ready(Some(Ok(chunk))) => {
                        bytes += chunk.len();
                        ready.push(chunk);
                    }
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                    Poll::Ready(None) => return Poll::Ready(Some(Ok(()))),
                    Poll::Pending if ready.is_empty() => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(None)
        });
        let end = end.await;
        stream.write_all_chunks(&mut ready).await?;
        ready.clear();
        if let Some(end) = end {
            return Ok(end);
        }
    }
}

/// Maximum time without a reply from a node that has stopped reading: the reason may still be in
/// transit.
const SILENCE: Duration = Duration::from_millis(500);

/// Replies to a client's stream of requests. They end with an error if the node stops reading the
/// requests and sends no reply for a while.
pub(crate) struct QuicReplies {
    received: ReceivedChunks,
    /// Receives the code with which the node stops reading, if it does.
    stopped: Option<oneshot::Receiver<VarInt>>,
    /// Timer that starts when the node stops reading, and anew with each reply. `None` before, and
    /// if the code announces that more replies follow.
    silence: Option<Pin<Box<Sleep>>>,
}

impl QuicReplies {
    pub(super) fn new(received: ReceivedChunks, stopped: oneshot::Receiver<VarInt>) -> Self {
        Self { received, stopped: Some(stopped), silence: None }
    }
}

impl Stream for QuicReplies {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(received) = Pin::new(&mut self.received).poll_next(context) {
            if let Some(silence) = &mut self.silence {
                silence.as_mut().reset(Instant::now() + SILENCE);
            }
            return Poll::Ready(received);
        }
        if let Some(stopped) = &mut self.stopped {
            let code = ready!(Pin::new(stopped).poll(context));
            self.stopped = None;
            // Without a code, the client has sent all requests, or the connection has ended, which
            // also ends the replies.
            if code.is_ok_and(|code| code != MORE_FOLLOWS) {
                self.silence = Some(Box::pin(sleep(SILENCE)));
            }
        }
        let Some(silence) = &mut self.silence else { return Poll::Pending };
        ready!(silence.as_mut().poll(context));
        self.silence = None;
        let text = "it stopped reading a stream of samples and gave no reason";
        Poll::Ready(Some(Err(Status::unavailable(text))))
    }
}
