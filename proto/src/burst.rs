//! Taking all that a stream holds ready, so that a burst of messages costs one wake-up.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::Stream;
use prost::Message;
use tonic::{Code, Status};

use crate::framing::{Decoder, Frame, Framed};

/// Most messages taken at once, so that whoever else runs on the thread gets a turn.
pub const MESSAGES: usize = 256;

/// Most bytes taken at once, so that a burst of long messages takes no more memory than one of them and this.
pub const BYTES: usize = 4 << 20;

/// The messages of a stream of chunks.
#[derive(Debug)]
pub struct Messages<S> {
    chunks: S,
    decoder: Decoder,
}

impl<S: Stream<Item = Result<Bytes, Status>> + Unpin> Messages<S> {
    /// Reads messages of at most `longest` bytes.
    pub fn new(chunks: S, longest: usize) -> Self {
        Self { chunks, decoder: Decoder::new(longest) }
    }

    /// Changes the limit, for the messages to come.
    pub fn set_longest(&mut self, longest: usize) {
        self.decoder.set_longest(longest);
    }

    /// Waits for a message and adds it, and all that are ready behind it, to the empty `burst`, up to the limits.
    /// Returns false when the stream has ended. After an error the messages before it are still in `burst`.
    pub async fn next_burst<M: Framed>(&mut self, burst: &mut Vec<M>) -> Result<bool, Status> {
        let mut bytes = 0;
        poll_fn(|context| {
            while burst.len() < MESSAGES && bytes < BYTES {
                match self.poll_message::<M>(context) {
                    Poll::Ready(Ok(Some(message))) => {
                        bytes += message.payload().len();
                        burst.push(message);
                    }
                    Poll::Ready(Ok(None)) => return Poll::Ready(Ok(false)),
                    Poll::Ready(Err(status)) => return Poll::Ready(Err(status)),
                    Poll::Pending if burst.is_empty() => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(Ok(true))
        })
        .await
    }

    /// Waits for one message; `None` when the stream has ended.
    pub async fn next_message<M: Message + Default>(&mut self) -> Result<Option<M>, Status> {
        poll_fn(|context| self.poll_message(context)).await
    }

    fn poll_message<M: Message + Default>(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<M>, Status>> {
        loop {
            match self.decoder.next_frame()? {
                Some(Frame::Message(message)) => return Poll::Ready(Ok(Some(message))),
                Some(Frame::End(end)) => {
                    return Poll::Ready(match Code::from_i32(end.code) {
                        Code::Ok => Ok(None),
                        code => Err(Status::new(code, end.message)),
                    });
                }
                None => {}
            }
            match ready!(Pin::new(&mut self.chunks).poll_next(context)) {
                Some(chunk) => self.decoder.push(chunk?),
                None => {
                    self.decoder.finish()?;
                    return Poll::Ready(Ok(None));
                }
            }
        }
    }
}
