//! A streaming engine that fails.

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use rand::{Rng as _, rngs::StdRng};

use super::MAX_BATCH;
use crate::{
    engine::{EngineError, Sink, StreamingEngine},
    model::payload::Payload,
};

/// Samples that it has under way at most, before it takes the last batch.
const ROOM: usize = 6;

/// Answers out of order, in events of any order, and fails in any way that such an engine can.
pub(super) struct Talkative {
    pub(super) random: StdRng,
    pub(super) samples: Vec<Spoken>,
    /// Whether it still has faults.
    pub(super) faulty: Arc<AtomicBool>,
}

/// A sample and how many first tokens it has been given.
pub(super) struct Spoken {
    payload: Payload,
    sink: Sink,
    firsts: usize,
}

impl Talkative {
    fn fault(&mut self, one_in: u32) -> bool {
        self.faulty.load(Ordering::SeqCst) && self.random.random_ratio(1, one_in)
    }
}

impl StreamingEngine for Talkative {
    fn under_way(&self) -> usize {
        self.samples.len()
    }

    fn has_room(&self) -> bool {
        self.samples.len() < ROOM
    }

    fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError> {
        assert!(!samples.is_empty() && samples.len() <= MAX_BATCH, "{} samples", samples.len());
        if self.fault(30) {
            // Unlike `panic!`, this prints nothing. The sinks are dropped on the way.
            resume_unwind(Box::new("no room"));
        }
        let spoken = |(payload, sink)| Spoken { payload, sink, firsts: 0 };
        self.samples.extend(samples.into_iter().map(spoken));
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
            // It is dropped without an answer.
            return Ok(());
        }
        let output = sample.payload.bytes().clone();
        match self.random.random_range(0..4) {
            0 if sample.firsts == 0 || self.fault(2) => {
                sample.firsts += 1;
                sample.sink.first(output.slice(..1));
            }
            1 => sample.sink.part(output),
            2 if self.fault(10) => {
                sample.sink.last(Err(EngineError::BadSample("blurred".into())));
                return Ok(());
            }
            // With or without a first token, as no stream asks for one. After two of them the client gets no answer.
            _ => {
                let wrong = Bytes::from_static(b"after two first tokens");
                sample.sink.last(Ok(if sample.firsts > 1 { wrong } else { output }));
                return Ok(());
            }
        }
        self.samples.push(sample);
        Ok(())
    }

    fn drop_all(&mut self) {
        self.samples.clear();
    }
}
