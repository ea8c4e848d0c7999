//! The way back: engine threads hand a stream all its replies of a batch at once; the transport takes them as
//! chunks.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    vec,
};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_proto::{burst::BYTES, framing::Encoder, v1::InferResponse};
use tokio::sync::mpsc;
use tonic::Status;

use crate::{admission::Admitted, sessions::Session};

/// One sample's reply, with the place that the sample holds until the reply is on its way.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) response: InferResponse,
    pub(crate) admitted: Admitted,
}

/// Where the replies of one stream go.
#[derive(Debug, Clone)]
pub(crate) struct ReplySender(mpsc::Sender<Result<Vec<Reply>, Status>>);

/// The response stream, as chunks.
#[derive(Debug)]
pub(crate) struct Replies {
    receiver: mpsc::Receiver<Result<Vec<Reply>, Status>>,
    burst: vec::IntoIter<Reply>,
    encoder: Encoder,
    /// A client may end its half and flush while replies are still to come.
    _session: Arc<Session>,
}

/// The two ends. Each message holds at least one admitted sample, so as many messages as the node admits
/// samples, and one for an error, always fit.
pub(crate) fn channel(
    max_in_flight_samples: usize,
    session: Arc<Session>,
) -> (ReplySender, Replies) {
    let (sender, receiver) = mpsc::channel(max_in_flight_samples + 1);
    let burst = Vec::new().into_iter();
    let encoder = Encoder::default();
    (ReplySender(sender), Replies { receiver, burst, encoder, _session: session })
}

impl ReplySender {
    /// Sends replies. Those of a client that has gone are dropped; it cannot take them.
    pub(crate) fn send(&self, replies: Vec<Reply>) {
        let _ = self.0.try_send(Ok(replies));
    }

    /// Ends the stream with an error.
    pub(crate) fn fail(&self, status: Status) {
        let _ = self.0.try_send(Err(status));
    }

    /// Whether the client has gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    pub(crate) fn same_stream(&self, other: &Self) -> bool {
        self.0.same_channel(&other.0)
    }
}

impl Replies {
    /// Encodes what is left of a batch, up to a limit, and gives its places back.
    fn encode(&mut self) {
        let mut places: Option<Admitted> = None;
        let mut bytes = 0;
        while bytes < BYTES
            && let Some(Reply { response, admitted }) = self.burst.next()
        {
            bytes += response.payload.len();
            self.encoder.push(response);
            match &mut places {
                Some(places) => places.join(admitted),
                None => places = Some(admitted),
            }
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
                    None => return Poll::Ready(None),
                }
            }
        }
    }
}
