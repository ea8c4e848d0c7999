//! Engines that do one batch at a time.

use bytes::Bytes;

use super::{Engine, EngineError, Inference};

/// Runs a batch from begin to end.
pub(crate) trait Infer: Send {
    /// Runs decoded payloads, which fit the model's layout.
    fn infer(&mut self, batch: &[Bytes]) -> Result<Inference, EngineError>;

    /// Runs before the node says that it is ready.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// Such an engine, and the batch that waits for `finish`.
pub(crate) struct OneByOne<E> {
    engine: E,
    batch: Vec<Bytes>,
}

impl<E: Infer + 'static> OneByOne<E> {
    pub(crate) fn new(engine: E) -> Self {
        Self { engine, batch: Vec::new() }
    }

    pub(super) fn boxed(engine: E) -> Box<dyn Engine> {
        Box::new(Self::new(engine))
    }
}

impl<E: Infer> Engine for OneByOne<E> {
    fn in_flight(&self) -> usize {
        1
    }

    fn begin(&mut self, batch: Vec<Bytes>) {
        self.batch = batch;
    }

    fn finish(&mut self) -> Result<Inference, EngineError> {
        let batch = std::mem::take(&mut self.batch);
        self.engine.infer(&batch)
    }

    fn warm_up(&mut self) -> Result<(), EngineError> {
        self.engine.warm_up()
    }
}
