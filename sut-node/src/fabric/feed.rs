//! Feeds messages to another node, as many as may be in flight.

use std::{
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use bytes::Bytes;
use netdiv_contract::{
    SessionHeader,
    burst::BurstOutcome,
    framing::Encoder,
    probe::StreamCounts,
    v1::{self, InferRequest, InferResponse},
};
use netdiv_node_common::sanitise::sanitise;
use netdiv_transport::Connection;
use parking_lot::Mutex;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

/// Initial and maximum number of bytes in flight on each connection. With a few connections this
/// suffices for 100 Gb/s and 1 ms.
const IN_FLIGHT_BYTES: RangeInclusive<usize> = 256 << 10..=16 << 20;

/// Minimum and maximum number of messages in flight on each connection.
const IN_FLIGHT: RangeInclusive<u64> = 2..=4096;

/// Returns the number of messages of `of_one` bytes that may be in flight for `bytes` bytes in
/// flight, within [`IN_FLIGHT`].
fn messages(bytes: usize, of_one: usize) -> u64 {
    ((bytes / of_one.max(1)) as u64).clamp(*IN_FLIGHT.start(), *IN_FLIGHT.end())
}

/// Sends `payload` again and again, and counts messages and answers in `counts`. Begins with the
/// initial number of messages in flight, and sends more for each answer, so that at most half as
/// many messages are in flight as were answered. All messages are thus answered soon after
/// `stopped` is set, however slow the network is. Then ends the stream.
pub(super) async fn feed(
    connection: Connection,
    payload: Bytes,
    counts: Arc<Mutex<StreamCounts>>,
    stopped: Arc<AtomicBool>,
) -> Result<(), Status> {
    let mut encoder = Encoder::default();
    let [least, most] = [*IN_FLIGHT_BYTES.start(), *IN_FLIGHT_BYTES.end()]
        .map(|bytes| messages(bytes, payload.len()));
    // A message is at most two chunks.
    let (queue, requests) = mpsc::channel(2 * most as usize);
    send(&queue, &mut encoder, &payload, 0..least)?;
    let mut sent = least;
    counts.lock().sent = sent;
    let mut received = 0;
    let requests = ReceiverStream::new(requests);
    let mut replies = connection.infer(&SessionHeader::default(), requests).await?;
    let mut burst: Vec<InferResponse> = Vec::new();
    loop {
        let next = replies.next_burst(&mut burst).await?;
        let last = Instant::now();
        if let Some(wrong) = burst.iter().find(|reply| reply.status() != v1::Status::Ok) {
            return Err(Status::failed_precondition(sanitise(&wrong.error)));
        }
        if next == BurstOutcome::End {
            return Err(Status::unavailable("it has ended the stream"));
        }
        let count = burst.len() as u64;
        burst.clear();
        received += count;
        if received > sent {
            return Err(Status::failed_precondition(
                "it sends more replies than it receives requests",
            ));
        }
        if !stopped.load(Ordering::Relaxed) {
            let until = received + (received / 2).clamp(least, most);
            send(&queue, &mut encoder, &payload, sent..until)?;
            sent = until;
        } else if received == sent {
            drop(queue);
            while replies.next_burst(&mut burst).await? != BurstOutcome::End {}
            return Ok(());
        }
        *counts.lock() = StreamCounts { sent, answered: received, last };
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
            // If the peer does not read requests, its replies contain the reason.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
        }
    }
    Ok(())
}
