//! Sending half of a stream: makes one message of each sample, when the transport requests more.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_contract::{checksum, encoding::Encoded, framing::Encoder, v1::InferRequest};

use crate::{
    failure::Failure,
    in_flight::SentSample,
    inbox::{QueuedSample, TakeOutcome},
    lane::{Lane, LaneState},
    loadgen::{LoadGen, LoadedSamples},
};

/// Stream of a lane's requests, encoded and as chunks. It ends when the run ends or the lane's node
/// is lost.
///
/// Takes waiting samples from the inbox together, up to a limit: each lock is taken once for all of
/// them, and their messages are sent in few chunks. Each sample still has its own message. The lane
/// never waits for more samples to arrive.
pub(crate) struct RequestStream<L: LoadGen> {
    lane: Arc<Lane<L>>,
    encoder: Encoder,
    taken: Vec<QueuedSample<L::Ticket>>,
}

impl<L: LoadGen> RequestStream<L> {
    pub(crate) fn new(lane: Arc<Lane<L>>) -> Self {
        Self { lane, encoder: Encoder::default(), taken: Vec::new() }
    }

    /// Takes the waiting samples that the window admits, and encodes them.
    fn fill(&mut self, context: &mut Context<'_>) -> Result<TakeOutcome, Failure> {
        let Some(mut state) = self.lane.state.try_lock() else {
            // The connection's thread decodes replies under this lock. LoadGen's thread does not
            // wait for it; the connection's thread tries again later.
            context.waker().wake_by_ref();
            return Ok(TakeOutcome::Empty);
        };
        if state.withdrawn {
            // The node was lost since the caller checked. The caller has to check again.
            context.waker().wake_by_ref();
            return Ok(TakeOutcome::Empty);
        }
        // Samples that are loaded. They are read after a sample was issued, because LoadGen loads a
        // sample before it issues it.
        let mut in_flight = state.in_flight.len();
        let max_in_flight = self.lane.max_in_flight(in_flight);
        let (mut loaded, mut not_loaded) = (None, None);
        let taken = self.lane.inbox.take(context.waker(), &mut self.taken, |next| {
            let loaded = loaded.get_or_insert_with(|| self.lane.run.source.loaded());
            let Some(sample) = sample(loaded, next.index) else {
                not_loaded = Some(next.index);
                return false;
            };
            if in_flight >= max_in_flight {
                state.in_flight.release_turn();
                return false;
            }
            let is_admitted = state.in_flight.admit(sample.cost(), context.waker());
            in_flight += usize::from(is_admitted);
            is_admitted
        });
        if let Some(index) = not_loaded {
            return Err(Failure::NotLoaded(index));
        }
        let (sent, loaded) = (Instant::now(), loaded.unwrap_or_default());
        for pending in self.taken.drain(..) {
            let index = pending.index;
            let sample = sample(&loaded, index).ok_or(Failure::NotLoaded(index))?;
            let header = header(&mut state, pending, sent, sample)?;
            self.encoder.push_parts(&header, &sample.bytes);
        }
        match taken {
            TakeOutcome::Some => {}
            TakeOutcome::Empty => state.in_flight.release_turn(),
            // The receiving half of the stream wakes this half when responses have made room.
            TakeOutcome::Refused => state.sender = Some(context.waker().clone()),
        }
        Ok(taken)
    }
}

impl<L: LoadGen> Stream for RequestStream<L> {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if self.lane.run.dispatch.is_retired(self.lane.number) {
                return Poll::Ready(None);
            }
            if let Some(chunk) = self.encoder.next_chunk() {
                return Poll::Ready(Some(chunk));
            }
            match self.fill(context) {
                Ok(TakeOutcome::Some) => {}
                Ok(TakeOutcome::Empty | TakeOutcome::Refused) => return Poll::Pending,
                Err(failure) => {
                    self.lane.run.fail(failure);
                    return Poll::Ready(None);
                }
            }
        }
    }
}

/// Returns a sample, if it is loaded.
fn sample(loaded: &LoadedSamples, index: usize) -> Option<&Encoded> {
    loaded.get(index)?.as_ref()
}

/// Inserts an admitted sample into the slot table, counts it as sent, and returns its message
/// without the payload.
fn header<T>(
    state: &mut LaneState<T>,
    pending: QueuedSample<T>,
    sent: Instant,
    sample: &Encoded,
) -> Result<InferRequest, Failure> {
    let QueuedSample { ticket, index, issued } = pending;
    let in_flight = u32::try_from(state.in_flight.len() + 1).unwrap_or(u32::MAX);
    let sent =
        SentSample { ticket, index, issued, sent, cost: sample.cost(), in_flight, first: None };
    let full = |_| Failure::Internal("the slot table is smaller than the window".into());
    let id = state.in_flight.insert(sent).map_err(full)?;
    state.report.sent += 1;
    state.report.bytes_sent += sample.bytes.len() as u64;
    let (encoding, decoded_bytes) = (sample.encoding as i32, sample.decoded_bytes);
    let sum = |payload| checksum::request_checksum(payload, id, encoding, decoded_bytes);
    let crc32c = sample.crc32c.map(sum);
    Ok(InferRequest { id, encoding, decoded_bytes, crc32c, ..InferRequest::default() })
}
