//! Engine without a model, batches or a separate thread. A client that uses it measures the times
//! of the network alone.

use std::time::Duration;

use bytes::Bytes;
use netdiv_contract::probe;
use serde::Serialize;

use crate::{
    engine::{
        interface::{BatchAnswers, BatchRunner, EngineKind},
        settings::{EngineSettings, NodeSettings},
        shared_args::Given,
    },
    ground::error::EngineError,
    model::{identity::Model, payload::Payload},
};

/// Settings of the engine `none`.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename = "none")]
pub struct NoModelConfig {}

impl NoModelConfig {
    pub(super) const KEYS: &[&str] = &["batch_timeout"];

    pub(super) fn resolve(_: &mut Given<'_>) -> anyhow::Result<Self> {
        Ok(Self {})
    }
}

impl EngineSettings for NoModelConfig {
    /// Returns no instance: the clients' streams answer their samples themselves.
    fn load(&self, _: &NodeSettings) -> Result<(Model, Vec<EngineKind>), EngineError> {
        Ok((Model::any_bytes("none"), Vec::new()))
    }
}

/// Length of the answer to a sample that is not a probe, in bytes. A probe is a sample that
/// requests an answer of a given length.
const ANSWER_BYTES: usize = 8;

/// Engine `none`, which answers samples on the thread that reads them.
#[derive(Debug, Clone)]
pub(crate) struct NoModel {
    /// Zeros, of which each answer is a part. Pages that are never written use no memory.
    zeros: Bytes,
}

impl NoModel {
    /// Creates the engine, which limits answers to `longest` bytes.
    pub(crate) fn new(longest: usize) -> Self {
        Self { zeros: vec![0; longest.max(ANSWER_BYTES)].into() }
    }

    /// Returns the answer to a sample: as many zeros as a probe requests, up to the limit.
    fn answer(&self, sample: &[u8]) -> Bytes {
        let wanted = probe::answer_bytes(sample).unwrap_or(ANSWER_BYTES as u64);
        let given = usize::try_from(wanted).unwrap_or(usize::MAX).min(self.zeros.len());
        self.zeros.slice(..given)
    }
}

impl BatchRunner for NoModel {
    fn infer(&mut self, batch: &[Payload]) -> Result<BatchAnswers, EngineError> {
        let answers = batch.iter().map(|sample| Ok(self.answer(sample.bytes()))).collect();
        Ok(BatchAnswers { answers, token_counts: Vec::new(), prepare: Duration::ZERO })
    }
}
