//! A streaming engine with faults.

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use netdiv_contract::tokens::{self, ID_BYTES};
use parking_lot::Mutex;
use rand::{Rng as _, rngs::StdRng};

use super::MAX_BATCH;
use crate::{
    engine::{
        interface::{StreamingEngine, WaitingEngine},
        sink::Sink,
    },
    ground::error::EngineError,
    model::payload::Payload,
    sample::token_room::TokenRoom,
};

/// Maximum number of samples in flight.
const ROOM: usize = 6;

/// Returns the whole token ids of a payload, as bytes.
pub(super) fn words(payload: &Bytes) -> Bytes {
    payload.slice(..payload.len() / ID_BYTES * ID_BYTES)
}

/// Streaming engine that responds out of order, with tokens in groups of any size or with a whole
/// output, and that fails in every possible manner.
pub(super) struct UnreliableStreaming {
    pub(super) random: StdRng,
    pub(super) samples: Vec<PendingOutput>,
    /// Set while the engine still has faults.
    pub(super) faulty: Arc<AtomicBool>,
    /// Limit of the tokens in flight that the node keeps; `None`: no limit.
    pub(super) room: Option<TokenRoom>,
    /// Waker of the task that waits until the engine has more tokens; `None` if no task waits.
    pub(super) waits: Arc<Mutex<Option<Waker>>>,
}

/// A sample, with the tokens that are not sent yet.
pub(super) struct PendingOutput {
    payload: Payload,
    sink: Sink,
    left: Vec<i32>,
}

impl UnreliableStreaming {
    fn fault(&mut self, one_in: u32) -> bool {
        self.faulty.load(Ordering::SeqCst) && self.random.random_ratio(1, one_in)
    }
}

impl StreamingEngine for UnreliableStreaming {
    fn in_flight(&self) -> usize {
        self.samples.len()
    }

    fn room(&self) -> usize {
        ROOM.saturating_sub(self.samples.len())
    }

    fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError> {
        assert!(!samples.is_empty() && samples.len() <= MAX_BATCH, "{} samples", samples.len());
        if self.fault(30) {
            // Unlike `panic!`, this prints nothing. The unwinding drops the sinks.
            resume_unwind(Box::new("no room"));
        }
        let spoken = |(payload, sink): (Payload, Sink)| {
            let left = tokens::ids(payload.bytes()).collect();
            PendingOutput { payload, sink, left }
        };
        self.samples.extend(samples.into_iter().map(spoken));
        if let Some(room) = self.room {
            let cost = |spoken: &PendingOutput| room.cost(spoken.payload.bytes().len() as u64);
            let tokens: u64 = self.samples.iter().map(cost).sum();
            assert!(tokens <= u64::from(room.max_tokens), "{tokens} tokens");
        }
        if self.fault(30) { Err(EngineError::Failed("no tokenizer".into())) } else { Ok(()) }
    }

    fn step(&mut self) -> Result<(), EngineError> {
        if self.fault(30) {
            resume_unwind(Box::new("overheated"));
        }
        if self.fault(30) {
            return Err(EngineError::Failed("out of memory".into()));
        }
        let chosen = self.random.random_range(0..self.samples.len());
        let mut sample = self.samples.swap_remove(chosen);
        if sample.sink.is_closed() || self.fault(20) {
            // The sample is dropped without a response.
            return Ok(());
        }
        match self.random.random_range(0..4) {
            0 if self.fault(10) => {
                sample.sink.finish_with(Err(EngineError::BadSample("blurred".into())));
            }
            1 if self.fault(10) => {
                sample.sink.push_tokens(&[-1]);
                sample.sink.end();
            }
            // A whole output, which is invalid after tokens.
            2 if sample.sink.token_count() == 0 || self.fault(10) => {
                sample.sink.finish_with(Ok(sample.payload.bytes().clone()));
            }
            _ if sample.left.is_empty() => sample.sink.end(),
            _ => {
                let some = self.random.random_range(0..=sample.left.len());
                sample.sink.push_tokens(&sample.left.drain(..some).collect::<Vec<_>>());
                self.samples.push(sample);
            }
        }
        Ok(())
    }

    fn drop_all(&mut self) {
        self.samples.clear();
    }
}

impl WaitingEngine for UnreliableStreaming {
    fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.samples.is_empty() {
            return Poll::Pending;
        }
        if self.random.random() {
            *self.waits.lock() = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}
