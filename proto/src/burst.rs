//! Taking all that a stream holds ready, so that a burst of messages costs one wake-up.

use std::{future::poll_fn, pin::Pin, task::Poll};

use futures_core::Stream;

/// How much is taken at once.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// Messages, so that whoever else runs on the thread gets a turn.
    pub messages: usize,
    /// Bytes, so that a burst of long messages takes no more memory than one of them and this.
    pub bytes: usize,
}

/// The limit that both ends use.
pub const LIMIT: Limit = Limit { messages: 256, bytes: 4 << 20 };

/// Waits for a message and adds it, and all that are ready behind it, to the empty `burst`, up to the limit.
/// Returns false when the stream has ended. After an error the messages before it are still in `burst`.
pub async fn next_burst<S, T, E>(
    stream: &mut S,
    burst: &mut Vec<T>,
    limit: Limit,
    bytes_of: impl Fn(&T) -> usize,
) -> Result<bool, E>
where
    S: Stream<Item = Result<T, E>> + Unpin,
{
    poll_fn(|context| {
        let mut bytes: usize = burst.iter().map(&bytes_of).sum();
        while burst.len() < limit.messages && bytes < limit.bytes {
            match Pin::new(&mut *stream).poll_next(context) {
                Poll::Ready(Some(Ok(message))) => {
                    bytes += bytes_of(&message);
                    burst.push(message);
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(None) => return Poll::Ready(Ok(false)),
                Poll::Pending if burst.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        Poll::Ready(Ok(true))
    })
    .await
}
