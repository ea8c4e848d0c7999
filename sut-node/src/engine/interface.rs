//! The interface between the node and its engines. Most engines run a batch at a time. A streaming
//! engine answers each sample separately, through the sample's [`Sink`]. One thread owns each
//! instance, or one task if the instance computes nothing.

use std::{
    io,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use tokio::runtime::Handle;

use crate::{
    engine::sink::Sink,
    ground::{engine_activity::Loss, error::EngineError},
    model::payload::Payload,
};

/// Function that an engine calls, on any thread, once its oldest work is done.
pub(crate) type DoneCallback = Box<dyn FnOnce() + Send>;

/// An instance of an engine that runs a batch at a time.
pub(crate) trait Engine: Send {
    /// Number of batches that can be begun before the first of them is finished, at least 1.
    fn max_in_flight(&self) -> usize;

    /// Begins a batch of decoded samples.
    fn begin(&mut self, batch: Vec<Payload>);

    /// Lets the engine call `done` once [`Self::finish`] would return at once. Until then, the
    /// caller can begin more batches. Returns false if the engine cannot detect this.
    fn when_done(&mut self, _done: DoneCallback) -> bool {
        false
    }

    /// Waits for the batch that was begun first, and returns its result.
    fn finish(&mut self) -> Result<BatchAnswers, EngineError>;

    /// Prepares the engine before the node reports that it is ready.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Returns the loss of the engine's process; `None` if the engine has no process.
    fn loss(&self) -> Option<Loss> {
        None
    }
}

/// An instance of an engine that answers each sample separately, in any order and in several
/// events.
pub(crate) trait StreamingEngine: Send {
    /// Number of samples that were begun and are not answered.
    fn in_flight(&self) -> usize;

    /// Number of samples that the engine accepts now, at least 1 if none is in flight.
    fn room(&self) -> usize;

    /// Begins samples, each with the sink for its response.
    fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError>;

    /// Continues the samples in flight for a moment, such as one step of decoding. After an error,
    /// the caller calls [`StreamingEngine::drop_all`].
    fn step(&mut self) -> Result<(), EngineError>;

    /// Drops all sinks after a failure.
    fn drop_all(&mut self);

    /// Returns the loss of the engine's process; `None` if the engine has no process.
    fn loss(&self) -> Option<Loss> {
        None
    }

    /// Prepares the engine before the node reports that it is ready.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// An engine that computes nothing: it waits for a time, or for servers, and accepts more samples
/// meanwhile. Its steps are short, and it has no warm-up.
pub(crate) trait WaitingEngine: StreamingEngine {
    /// Returns ready once [`StreamingEngine::step`] has work to do.
    fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Returns the engine's own runtime; `None` if the engine runs on the runtime that serves the
    /// clients' streams.
    fn runtime(&self) -> Option<Handle> {
        None
    }
}

/// An instance of an engine of any kind.
pub(crate) enum EngineKind {
    /// Runs a batch at a time.
    Batched(Box<dyn Engine>),
    /// Answers each sample separately.
    Streaming(Box<dyn StreamingEngine>),
    /// Answers each sample separately, and computes nothing.
    Waiting(Box<dyn WaitingEngine>),
}

impl EngineKind {
    /// Wraps an engine that computes nothing. Fails if the system lacks a resource.
    pub(crate) fn waiting(
        engine: io::Result<impl WaitingEngine + 'static>,
    ) -> Result<Self, EngineError> {
        Ok(Self::Waiting(Box::new(engine?)))
    }

    /// Returns the engine's own runtime, if it has one.
    pub(crate) fn runtime(&self) -> Option<Handle> {
        match self {
            Self::Waiting(engine) => engine.runtime(),
            Self::Batched(_) | Self::Streaming(_) => None,
        }
    }

    /// Returns the loss of the engine's process; `None` if the engine has no process.
    pub(crate) fn loss(&self) -> Option<Loss> {
        match self {
            Self::Batched(engine) => engine.loss(),
            Self::Streaming(engine) => engine.loss(),
            Self::Waiting(engine) => engine.loss(),
        }
    }
}

/// Result of a batch.
#[derive(Debug)]
pub(crate) struct BatchAnswers {
    /// Response to each sample or its error, in the order of the batch.
    pub answers: Vec<Result<Bytes, EngineError>>,
    /// Number of the model's tokens of each response; empty if the engine does not count them.
    pub token_counts: Vec<u32>,
    /// Time spent on preparing the input.
    pub prepare: Duration,
}

impl BatchAnswers {
    /// Returns the responses, or the first error.
    pub(crate) fn responses(self) -> Result<Vec<Bytes>, EngineError> {
        self.answers.into_iter().collect()
    }
}

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
