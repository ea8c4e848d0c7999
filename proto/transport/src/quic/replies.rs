//! Replies to a client's stream of requests. They end with an error if the node stops reading the
//! requests and sends no reply for a while.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use quinn::VarInt;
use tokio::{
    sync::oneshot,
    time::{Instant, Sleep, sleep},
};
use tonic::Status;

use super::chunks::{MORE_FOLLOWS, ReceivedChunks};

/// Maximum time without a reply from a node that has stopped reading: the reason may still be in
/// transit.
const SILENCE: Duration = Duration::from_millis(500);

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
