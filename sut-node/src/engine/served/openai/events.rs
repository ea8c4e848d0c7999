//! The events of an answer (SSE), of bounded length.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::Stream as _;
use http_body::Body;
use sse_stream::SseByteStream;

use crate::engine::{remote::refused::causes, served::connections::Failure};

/// Most bytes until an event is whole: all ids of the longest output, and a long prompt's text.
const MOST_BYTES: usize = 8 << 20;

/// The events of a body.
pub(crate) struct Events<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin> {
    events: SseByteStream<Bounded<B>>,
    /// Bytes since the last event.
    bytes: Arc<AtomicUsize>,
}

impl<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin> Events<B> {
    pub(crate) fn new(body: B) -> Self {
        let bytes = Arc::new(AtomicUsize::new(0));
        let events = SseByteStream::new(Bounded { body, bytes: bytes.clone() });
        Self { events, bytes }
    }

    /// The next event's data; `None` at the end. What the end cuts off is no event.
    pub(super) async fn next(&mut self) -> Result<Option<String>, String> {
        loop {
            let next = poll_fn(|cx| Pin::new(&mut self.events).poll_next(cx)).await;
            let Some(event) = next.transpose().map_err(|error| causes(&error))? else {
                return Ok(None);
            };
            self.bytes.store(0, Ordering::Relaxed);
            match (event.event.as_deref(), event.data) {
                (Some("error"), data) => {
                    return Err(format!("the server failed: {}", data.unwrap_or_default()));
                }
                (_, Some(data)) => return Ok(Some(data)),
                (_, None) => {}
            }
        }
    }
}

/// The bytes of a body, which fail once there are too many without an event.
struct Bounded<B> {
    body: B,
    bytes: Arc<AtomicUsize>,
}

impl<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin> futures_core::Stream for Bounded<B> {
    type Item = Result<Bytes, io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(cx)) else {
                return Poll::Ready(None);
            };
            let frame = match frame {
                Ok(frame) => frame,
                Err(error) => return Poll::Ready(Some(Err(io::Error::other(error)))),
            };
            // Trailers say nothing of interest.
            let Ok(data) = frame.into_data() else { continue };
            let before = self.bytes.fetch_add(data.len(), Ordering::Relaxed);
            return Poll::Ready(Some(if before.saturating_add(data.len()) > MOST_BYTES {
                Err(io::Error::other(format!("more than {MOST_BYTES} bytes without an event")))
            } else {
                Ok(data)
            }));
        }
    }
}
