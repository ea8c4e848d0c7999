//! An engine that runs batches and has faults.

use std::{
    collections::VecDeque,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use rand::{Rng as _, rngs::StdRng};

use super::MAX_BATCH;
use crate::{
    engine::interface::{BatchAnswers, Engine},
    ground::error::EngineError,
    model::payload::Payload,
};

/// Engine that fails in every possible manner.
pub(super) struct Unreliable {
    pub(super) random: StdRng,
    pub(super) batches: VecDeque<Vec<Payload>>,
    /// Set while the engine still has faults.
    pub(super) faulty: Arc<AtomicBool>,
}

impl Engine for Unreliable {
    fn max_in_flight(&self) -> usize {
        2
    }

    fn begin(&mut self, batch: Vec<Payload>) {
        assert!(!batch.is_empty() && batch.len() <= MAX_BATCH, "a batch of {}", batch.len());
        let panics = self.faulty.load(Ordering::SeqCst) && self.random.random_ratio(1, 30);
        self.batches.push_back(if panics { Vec::new() } else { batch });
        if panics {
            // Unlike `panic!`, this prints nothing.
            resume_unwind(Box::new("no room"));
        }
    }

    fn finish(&mut self) -> Result<BatchAnswers, EngineError> {
        let batch = self.batches.pop_front().unwrap_or_default();
        let mut answers: Vec<_> = batch.iter().map(|sample| Ok(sample.bytes().clone())).collect();
        let fault =
            if self.faulty.load(Ordering::SeqCst) { self.random.random_range(0..20) } else { 20 };
        match fault {
            0 => return Err(EngineError::Failed("out of memory".into())),
            1 => resume_unwind(Box::new("overheated")),
            2 => drop(answers.pop()),
            3 if !answers.is_empty() => answers.push(Ok(Bytes::from_static(b"one too many"))),
            4 => answers.clear(),
            5 if !answers.is_empty() => {
                answers[0] = Err(EngineError::BadSample("blurred".into()));
            }
            _ => {}
        }
        Ok(BatchAnswers { answers, token_counts: Vec::new(), prepare: Duration::ZERO })
    }
}
