//! Engines that run one batch at a time.

use crate::{
    engine::interface::{BatchAnswers, Engine},
    ground::error::EngineError,
    model::payload::Payload,
};

/// Engine that runs a whole batch in one call.
pub(crate) trait BatchRunner: Send {
    /// Runs a batch of decoded samples.
    fn infer(&mut self, batch: &[Payload]) -> Result<BatchAnswers, EngineError>;

    /// Prepares the engine before the node reports that it is ready.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// Adapter that makes a [`BatchRunner`] an [`Engine`]: `begin` stores the batch, and `finish` runs
/// it.
pub(crate) struct SequentialEngine<E> {
    engine: E,
    batch: Vec<Payload>,
}

impl<E: BatchRunner + 'static> SequentialEngine<E> {
    pub(crate) fn new(engine: E) -> Self {
        Self { engine, batch: Vec::new() }
    }

    pub(super) fn boxed(engine: E) -> Box<dyn Engine> {
        Box::new(Self::new(engine))
    }
}

impl<E: BatchRunner> Engine for SequentialEngine<E> {
    fn max_in_flight(&self) -> usize {
        1
    }

    fn begin(&mut self, batch: Vec<Payload>) {
        self.batch = batch;
    }

    fn finish(&mut self) -> Result<BatchAnswers, EngineError> {
        let batch = std::mem::take(&mut self.batch);
        self.engine.infer(&batch)
    }

    fn warm_up(&mut self) -> Result<(), EngineError> {
        self.engine.warm_up()
    }
}
