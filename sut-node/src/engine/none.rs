//! Nothing between a sample and its answer: no model, no batch, no thread of its own. What is left is the network.

use std::time::Duration;

use bytes::Bytes;
use netdiv_proto::{layout::InputLayout, probe};

use super::{Engine, EngineError, Inference, Model};

/// Bytes of the answer to a sample that is no probe.
const ANSWER_BYTES: usize = 8;

/// Runs where samples are read.
#[derive(Debug, Clone)]
pub(crate) struct NoModel {
    /// As many as the longest answer; pages that nobody writes cost no memory.
    zeros: Bytes,
}

impl NoModel {
    /// Answers have at most that many bytes.
    pub(crate) fn new(longest: usize) -> Self {
        Self { zeros: vec![0; longest.max(ANSWER_BYTES)].into() }
    }

    fn answer(&self, sample: &[u8]) -> Result<Bytes, EngineError> {
        let Some(wanted) = probe::answer_bytes(sample) else {
            return Ok(self.zeros.slice(..ANSWER_BYTES));
        };
        match usize::try_from(wanted) {
            Ok(wanted) if wanted <= self.zeros.len() => Ok(self.zeros.slice(..wanted)),
            _ => Err(EngineError::Failed(format!(
                "a probe asks for {wanted} bytes, the limit is {}; raise --max-payload-bytes",
                self.zeros.len()
            ))),
        }
    }
}

impl Engine for NoModel {
    fn infer(&mut self, batch: &[Bytes]) -> Result<Inference, EngineError> {
        let answers = batch.iter().map(|sample| self.answer(sample)).collect::<Result<_, _>>()?;
        Ok(Inference { answers, prepare: Duration::ZERO })
    }
}

pub(super) fn model() -> Model {
    Model {
        engine: "none",
        name: "none".into(),
        sha256: String::new(),
        input: InputLayout::default(),
    }
}
