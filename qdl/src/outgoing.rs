//! The sending half of a connection: one message per sample, as the transport asks for them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use futures_core::Stream;
use netdiv_proto::{encoding::Encoded, v1::InferRequest};

use crate::{
    Failure, LoadGen,
    inbox::Taken,
    lane::{InFlight, Lane, LaneState},
    lock,
};

/// The request stream of a connection. It ends when the run ends.
pub(crate) struct Outgoing<L: LoadGen> {
    lane: Arc<Lane<L>>,
}

impl<L: LoadGen> Outgoing<L> {
    pub(crate) fn new(lane: Arc<Lane<L>>) -> Self {
        Self { lane }
    }
}

impl<L: LoadGen> Stream for Outgoing<L> {
    type Item = InferRequest;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<InferRequest>> {
        let lane = &self.lane;
        if *lane.run.stop.borrow() {
            return Poll::Ready(None);
        }
        let mut state = lock(&lane.state);
        let mut not_loaded = None;
        let taken = lane.inbox.take(context.waker(), |next| {
            let Some(sample) = lane.run.source.payload(next.index) else {
                not_loaded = Some(next.index);
                return None;
            };
            state.window.admits(sample.cost()).then_some(sample)
        });
        if let Some(index) = not_loaded {
            drop(state);
            lane.run.fail(Failure::NotLoaded(index));
            return Poll::Ready(None);
        }
        match taken {
            Taken::Sample((pending, sample)) => {
                let (ticket, issued) = (pending.ticket, pending.issued);
                match message(&mut state, ticket, issued, sample) {
                    Some(message) => Poll::Ready(Some(message)),
                    None => {
                        drop(state);
                        let text = "the slot table is smaller than the window".into();
                        lane.run.fail(Failure::Internal(text));
                        Poll::Ready(None)
                    }
                }
            }
            // The inbox calls the waker, for a sample or because the run ends.
            Taken::Empty => Poll::Pending,
            // The receiving half does, when answers have made room.
            Taken::Refused => {
                state.sender = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// The message of one sample; its slot and its place in the window are taken.
fn message<T>(
    state: &mut LaneState<T>,
    ticket: T,
    issued: Instant,
    sample: Encoded,
) -> Option<InferRequest> {
    let cost = sample.cost();
    let sent = Instant::now();
    let in_flight = InFlight { ticket, issued, sent, cost };
    let id = state.slots.insert(in_flight).ok()?;
    state.window.sent(cost);
    state.waiting_since.get_or_insert(sent);
    state.report.sent += 1;
    state.report.bytes_sent += sample.bytes.len() as u64;
    Some(InferRequest {
        id,
        encoding: sample.encoding as i32,
        decoded_bytes: sample.decoded_bytes,
        payload: sample.bytes,
    })
}
