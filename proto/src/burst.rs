//! Taking all that a stream holds ready, so that a burst of messages costs one wake-up.

use std::{future::poll_fn, pin::Pin, task::Poll};

use futures_core::Stream;

/// Waits for a message and adds it, and all that are ready behind it, to `burst`, up to `longest` in all.
/// Returns false when the stream has ended. After an error the messages before it are still in `burst`.
pub async fn next_burst<S, T, E>(
    stream: &mut S,
    burst: &mut Vec<T>,
    longest: usize,
) -> Result<bool, E>
where
    S: Stream<Item = Result<T, E>> + Unpin,
{
    poll_fn(|context| {
        while burst.len() < longest {
            match Pin::new(&mut *stream).poll_next(context) {
                Poll::Ready(Some(Ok(message))) => burst.push(message),
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
