//! Reads the events of a response (server-sent events, SSE), each of limited length.

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

use crate::engine::{
    remote::{
        reading::Parts,
        refusal::{Refusal, causes},
    },
    served::{connection_pool::Failure, dialect::Api, output::Chunk},
};

/// Maximum number of bytes of an event: all ids of the longest output, and a long prompt's text.
const MOST_BYTES: usize = 8 << 20;

/// A response as it arrives. The server's dialect turns each event into a chunk.
pub(crate) struct EventResponse<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin> {
    api: &'static Api,
    events: SseByteStream<BoundedBody<B>>,
    /// Number of bytes since the last event.
    bytes: Arc<AtomicUsize>,
}

impl<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin> EventResponse<B> {
    pub(crate) fn new(api: &'static Api, body: B) -> Self {
        let bytes = Arc::new(AtomicUsize::new(0));
        let events = SseByteStream::new(BoundedBody { body, bytes: bytes.clone() });
        Self { api, events, bytes }
    }

    /// Returns the next event's data, or `None` at the end. Ignores a truncated event at the end.
    async fn next_event(&mut self) -> Result<Option<String>, String> {
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

impl<B> Parts for EventResponse<B>
where
    B: Body<Data = Bytes, Error: Into<Failure>> + Unpin + Send,
{
    type Part = Chunk;

    async fn next(&mut self) -> Result<Option<Chunk>, Refusal> {
        let event = self.next_event().await?;
        Ok(event.map(|data| self.api.read(&data)).transpose()?)
    }
}

/// Body that fails once too many bytes arrive without an event.
struct BoundedBody<B> {
    body: B,
    bytes: Arc<AtomicUsize>,
}

impl<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin> futures_core::Stream for BoundedBody<B> {
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
            // Trailers contain nothing of interest.
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
