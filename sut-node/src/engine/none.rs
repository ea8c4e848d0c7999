//! Engine without a model, batches or a separate thread. Its times are those of the network.

use std::time::Duration;

use bytes::Bytes;
use netdiv_contract::probe;

use crate::{
    engine::{interface::Inference, sequential::BatchRunner},
    ground::error::EngineError,
    model::payload::Payload,
};

/// Bytes of the answer to a sample that is not a probe.
const ANSWER_BYTES: usize = 8;

/// Answers samples on the thread that reads them.
#[derive(Debug, Clone)]
pub(crate) struct NoModel {
    /// Zeros, as many as the longest answer has. Pages that are never written use no memory.
    zeros: Bytes,
}

impl NoModel {
    /// Limits answers to `longest` bytes.
    pub(crate) fn new(longest: usize) -> Self {
        Self { zeros: vec![0; longest.max(ANSWER_BYTES)].into() }
    }

    /// Returns as many zeros as a probe asks for, up to the limit.
    fn answer(&self, sample: &[u8]) -> Bytes {
        let wanted = probe::answer_bytes(sample).unwrap_or(ANSWER_BYTES as u64);
        let given = usize::try_from(wanted).unwrap_or(usize::MAX).min(self.zeros.len());
        self.zeros.slice(..given)
    }
}

impl BatchRunner for NoModel {
    fn infer(&mut self, batch: &[Payload]) -> Result<Inference, EngineError> {
        let answers = batch.iter().map(|sample| Ok(self.answer(sample.bytes()))).collect();
        Ok(Inference { answers, prepare: Duration::ZERO })
    }
}
