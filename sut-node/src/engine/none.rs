//! Nothing between a sample and its answer: no model, no batch, no thread of its own. What is left is the network.

use std::time::Duration;

use bytes::Bytes;
use netdiv_contract::probe;

use crate::{
    engine::{interface::Inference, one_by_one::Infer},
    ground::error::EngineError,
    model::payload::Payload,
};

/// Bytes of the answer to a sample that is no probe.
const ANSWER_BYTES: usize = 8;

/// Runs where samples are read.
#[derive(Debug, Clone)]
pub(crate) struct NoModel {
    /// As many as the longest answer; pages that are never written cost no memory.
    zeros: Bytes,
}

impl NoModel {
    /// Answers have at most that many bytes.
    pub(crate) fn new(longest: usize) -> Self {
        Self { zeros: vec![0; longest.max(ANSWER_BYTES)].into() }
    }

    /// A probe that asks for more than is allowed gets as much as is.
    fn answer(&self, sample: &[u8]) -> Bytes {
        let wanted = probe::answer_bytes(sample).unwrap_or(ANSWER_BYTES as u64);
        let given = usize::try_from(wanted).unwrap_or(usize::MAX).min(self.zeros.len());
        self.zeros.slice(..given)
    }
}

impl Infer for NoModel {
    fn infer(&mut self, batch: &[Payload]) -> Result<Inference, EngineError> {
        let answers = batch.iter().map(|sample| Ok(self.answer(sample.bytes()))).collect();
        Ok(Inference { answers, prepare: Duration::ZERO })
    }
}
