//! Conversion between HTTP bodies and streams of chunks.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::Stream;
use http::HeaderMap;
use http_body::{Body as _, Frame};
use tonic::{Status, body::Body};

use super::connection_end::ConnectionEnd;
use crate::connections::StreamPermit;

/// Stream of the chunks of a received body. If the call fails, the last item is the status of the
/// call, as an error.
pub(crate) struct BodyChunks {
    body: Body,
    /// End of the connection, which explains the error of a broken call; at a client only.
    end: Option<ConnectionEnd>,
    /// Status of a broken call, once the end of the connection explains it.
    broken: Option<Pin<Box<dyn Future<Output = Status> + Send>>>,
}

impl BodyChunks {
    /// Creates the stream; with `end` at a client only.
    pub(super) fn new(body: Body, end: Option<ConnectionEnd>) -> Self {
        Self { body, end, broken: None }
    }
}

impl Stream for BodyChunks {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(broken) = &mut self.broken {
                let status = ready!(broken.as_mut().poll(context));
                self.broken = None;
                return Poll::Ready(Some(Err(status)));
            }
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                None => return Poll::Ready(None),
                Some(Err(status)) => match self.end.take() {
                    Some(end) => {
                        self.broken = Some(Box::pin(end.explain(status)));
                        continue;
                    }
                    None => return Poll::Ready(Some(Err(status))),
                },
                Some(Ok(frame)) => frame,
            };
            match frame.into_data() {
                Ok(chunk) => return Poll::Ready(Some(Ok(chunk))),
                Err(frame) => match frame.into_trailers().map(status) {
                    Ok(Err(status)) => return Poll::Ready(Some(Err(status))),
                    _ => continue,
                },
            }
        }
    }
}

/// Fails with the status in headers or trailers, unless this status is OK. Headers without a status
/// are no failure: the call then ends with its stream.
pub(super) fn status(mut headers: HeaderMap) -> Result<(), Status> {
    // tonic panics on details that are not base64, and they are not needed.
    headers.remove("grpc-status-details-bin");
    match Status::from_header_map(&headers) {
        Some(status) if status.code() != tonic::Code::Ok => Err(status),
        _ => Ok(()),
    }
}

/// HTTP body made of a client's stream of requests.
pub(super) struct RequestBody<S>(pub(super) S);

impl<S: Stream<Item = Bytes> + Unpin> http_body::Body for RequestBody<S> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let chunk = ready!(Pin::new(&mut self.0).poll_next(context));
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }
}

/// HTTP body made of a node's stream of responses. The status at the end of the stream becomes the
/// trailers.
pub(super) struct ReplyBody<S>(Option<(S, Option<StreamPermit>)>);

impl<S> ReplyBody<S> {
    /// Creates the body. The permit `place` is released when the stream has ended.
    pub(super) fn new(replies: S, place: Option<StreamPermit>) -> Self {
        Self(Some((replies, place)))
    }
}

impl<S: Stream<Item = Result<Bytes, Status>> + Unpin> http_body::Body for ReplyBody<S> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some((replies, _)) = &mut self.0 else { return Poll::Ready(None) };
        let end = match ready!(Pin::new(replies).poll_next(context)) {
            Some(Ok(chunk)) => return Poll::Ready(Some(Ok(Frame::data(chunk)))),
            Some(Err(status)) => status,
            None => Status::ok(""),
        };
        self.0 = None;
        let mut trailers = HeaderMap::new();
        let added = end.add_header(&mut trailers);
        Poll::Ready(Some(added.map(|()| Frame::trailers(trailers))))
    }
}
