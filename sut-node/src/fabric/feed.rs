//! A stream of messages to another node, as many as may be in flight.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use netdiv_contract::{
    SessionHeader,
    burst::Next,
    framing::Encoder,
    said::said,
    v1::{self, InferRequest, InferResponse},
};
use netdiv_transport::Connection;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

/// Bytes in flight on each connection: with a few of them enough for 100 Gb/s and 1 ms.
const IN_FLIGHT_BYTES: usize = 16 << 20;

/// Messages in flight on each connection, at least and at most.
const IN_FLIGHT: std::ops::RangeInclusive<usize> = 2..=4096;

/// Sends this payload again and again: as many messages as may be in flight, and another for each answer, which it counts.
/// Ends only with an error.
pub(super) async fn feed(
    connection: Connection,
    payload: Bytes,
    answered: Arc<AtomicU64>,
) -> Result<Infallible, Status> {
    let mut encoder = Encoder::default();
    let in_flight = IN_FLIGHT_BYTES / payload.len().max(1);
    let in_flight = in_flight.clamp(*IN_FLIGHT.start(), *IN_FLIGHT.end());
    // A message is at most two chunks.
    let (queue, requests) = mpsc::channel(2 * in_flight);
    send(&queue, &mut encoder, &payload, 0..in_flight as u64)?;
    let mut sent = in_flight as u64;
    let mut received = 0;
    let requests = ReceiverStream::new(requests);
    let mut replies = connection.infer(&SessionHeader::default(), requests).await?;
    let mut burst: Vec<InferResponse> = Vec::new();
    loop {
        let next = replies.next_burst(&mut burst).await?;
        if let Some(wrong) = burst.iter().find(|reply| reply.status() != v1::Status::Ok) {
            return Err(Status::failed_precondition(said(&wrong.error)));
        }
        if next == Next::End {
            return Err(Status::unavailable("it has ended the stream"));
        }
        let count = burst.len() as u64;
        burst.clear();
        received += count;
        if received > sent {
            return Err(Status::failed_precondition("it answers more than it is asked"));
        }
        answered.fetch_add(count, Ordering::Relaxed);
        send(&queue, &mut encoder, &payload, sent..sent + count)?;
        sent += count;
    }
}

fn send(
    queue: &mpsc::Sender<Bytes>,
    encoder: &mut Encoder,
    payload: &Bytes,
    ids: std::ops::Range<u64>,
) -> Result<(), Status> {
    for id in ids {
        encoder.push(InferRequest { id, payload: payload.clone(), ..InferRequest::default() });
    }
    while let Some(chunk) = encoder.next_chunk() {
        match queue.try_send(chunk) {
            Err(TrySendError::Full(_)) => return Err(Status::internal("too much is in flight")),
            // Where nobody takes it, the replies say why.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
        }
    }
    Ok(())
}
