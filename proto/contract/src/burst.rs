//! Bursts: all messages that a stream has ready are read together, which costs one wake-up.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::Stream;
use prost::Message;

use crate::{
    framing::{Decoder, Frame, check_status},
    limits::MAX_HEADER_BYTES,
    payload_message::PayloadMessage,
    wire_error::WireError,
};

/// Maximum number of messages in a burst, so that other tasks of the thread get their turn.
pub const MAX_BURST_MESSAGES: usize = 256;

/// Maximum length of a burst, in bytes. The memory of a burst of long messages is bounded by this
/// and one message.
pub const MAX_BURST_BYTES: usize = 4 << 20;

/// Result of [`Messages::next_burst`].
#[derive(Debug, PartialEq, Eq)]
pub enum BurstOutcome {
    /// The burst has messages, and the stream continues.
    Burst,
    /// The stream has ended. The burst contains the messages before its end, if there are any.
    End,
    /// The stream is receiving a message of this many bytes, more than it may assemble without a
    /// grant: see [`Messages::pause_above`].
    Long(usize),
}

/// Messages of a stream of chunks.
#[derive(Debug)]
pub struct Messages<S> {
    chunks: S,
    decoder: Decoder,
    ask_above: usize,
    granted: usize,
}

impl<S, E> Messages<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: From<WireError>,
{
    /// Reads messages of at most `longest` bytes.
    pub fn new(chunks: S, longest: usize) -> Self {
        let decoder = Decoder::new(longest);
        Self { chunks, decoder, ask_above: usize::MAX, granted: 0 }
    }

    /// Makes [`Self::next_burst`] stop before it receives the rest of a message of more than
    /// `bytes` bytes, until [`Self::grant`] allows it.
    pub fn pause_above(&mut self, bytes: usize) {
        self.ask_above = bytes;
    }

    /// Allows the stream to receive one message of at most `bytes` bytes, such as the message that
    /// [`BurstOutcome::Long`] reported.
    pub fn grant(&mut self, bytes: usize) {
        self.granted = bytes;
    }

    /// Changes the limit for messages that have not begun, in bytes.
    pub fn set_longest(&mut self, longest: usize) {
        self.decoder.set_longest(longest);
    }

    /// Returns the decoder, which holds the received bytes that have not become messages yet.
    pub fn decoder(&mut self) -> &mut Decoder {
        &mut self.decoder
    }

    /// Waits for a message and adds it to the empty `burst`, followed by all messages that are
    /// ready, up to the limits. After an error, `burst` contains the messages before it.
    pub async fn next_burst<M: PayloadMessage>(
        &mut self,
        burst: &mut Vec<M>,
    ) -> Result<BurstOutcome, E> {
        let mut bytes = 0;
        poll_fn(|context| {
            while burst.len() < MAX_BURST_MESSAGES && bytes < MAX_BURST_BYTES {
                match self.poll_step(context) {
                    Poll::Ready(Ok(Step::Message(length))) => {
                        self.decoder.read(length, burst).map_err(WireError::from)?;
                        check_last(length, burst)?;
                        bytes += length;
                    }
                    Poll::Ready(Ok(Step::End)) => return Poll::Ready(Ok(BurstOutcome::End)),
                    // Returns the messages before the long one first.
                    Poll::Ready(Ok(Step::Long(_))) if !burst.is_empty() => break,
                    Poll::Ready(Ok(Step::Long(long))) => {
                        return Poll::Ready(Ok(BurstOutcome::Long(long)));
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending if burst.is_empty() => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(Ok(BurstOutcome::Burst))
        })
        .await
    }

    /// Waits for one message. Returns `None` when the stream has ended.
    pub async fn next_message<M: Message + Default>(&mut self) -> Result<Option<M>, E> {
        poll_fn(|context| {
            loop {
                match ready!(self.poll_step(context))? {
                    Step::Message(length) => {
                        let message = self.decoder.read_any(length).map_err(WireError::from)?;
                        return Poll::Ready(Ok(Some(message)));
                    }
                    Step::End => return Poll::Ready(Ok(None)),
                    Step::Long(long) => self.grant(long),
                }
            }
        })
        .await
    }

    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<Result<Step, E>> {
        loop {
            match self.decoder.next_arrived().map_err(WireError::from)? {
                Some(Frame::Message(length)) => {
                    self.granted = 0;
                    return Poll::Ready(Ok(Step::Message(length)));
                }
                Some(Frame::End(end)) => {
                    return Poll::Ready(Ok(check_status(end).map(|()| Step::End)?));
                }
                None => {}
            }
            if let Some(long) = self.decoder.incomplete_bytes()
                && long > self.ask_above.max(self.granted)
            {
                return Poll::Ready(Ok(Step::Long(long)));
            }
            match ready!(Pin::new(&mut self.chunks).poll_next(context)) {
                Some(chunk) => self.decoder.push(chunk?),
                None => {
                    self.decoder.finish().map_err(WireError::from)?;
                    return Poll::Ready(Ok(Step::End));
                }
            }
        }
    }
}

/// Removes and refuses the last message, of `length` bytes, if it keeps more memory alive than its
/// payload accounts for, such as one with long unknown fields.
fn check_last<M: PayloadMessage>(length: usize, burst: &mut Vec<M>) -> Result<(), WireError> {
    let Some(message) = burst.last_mut() else { return Ok(()) };
    let payload = message.payload_mut().len();
    let header = length.saturating_sub(message.text_bytes() + payload);
    if header <= MAX_HEADER_BYTES {
        return Ok(());
    }
    burst.pop();
    Err(WireError::Header { header, payload })
}

/// Step of a stream: the length of a message that is complete and must be read, the end, or the
/// length of a message that needs a grant.
enum Step {
    Message(usize),
    End,
    Long(usize),
}
