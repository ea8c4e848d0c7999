//! What the node asks of an engine. Each instance is owned by one thread. There are two kinds: most run a batch at a time;
//! a streaming engine answers each sample for itself, through its [`Sink`].

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::{
    engine::{error::EngineError, sink::Sink},
    model::payload::Payload,
};

/// What is called once something is done, on any thread.
pub(crate) type Done = Box<dyn FnOnce() + Send>;

/// One instance of an engine that runs a batch at a time.
pub trait Engine: Send {
    /// Batches that can be begun before the first of them is finished, at least one.
    fn in_flight(&self) -> usize;

    /// Begins a batch of decoded samples.
    fn begin(&mut self, batch: Vec<Payload>);

    /// Has that called once `finish` would return at once, so that more can be begun until then; false: it cannot tell.
    fn when_done(&mut self, _done: Done) -> bool {
        false
    }

    /// Waits for the batch that was begun first.
    fn finish(&mut self) -> Result<Inference, EngineError>;

    /// Runs before the node says that it is ready.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Runs one batch, when none is under way.
    fn infer(&mut self, batch: Vec<Payload>) -> Result<Inference, EngineError> {
        self.begin(batch);
        self.finish()
    }
}

/// One instance of an engine that answers each sample for itself, in any order and in several events.
pub trait StreamingEngine: Send {
    /// Samples that were begun and are not answered.
    fn under_way(&self) -> usize;

    /// How many more samples it takes now; at least one when none is under way.
    fn room(&self) -> usize;

    /// Begins samples, each with where its answer goes.
    fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError>;

    /// Until when there is nothing to do but take more samples; `None`: there is something to do now.
    fn idle_until(&self) -> Option<Instant> {
        None
    }

    /// Goes on for a moment, such as one step of decoding, when samples are under way; waits until there is something to do.
    /// After an error it is asked to drop all of them.
    fn step(&mut self) -> Result<(), EngineError>;

    /// Drops every sink: it has failed.
    fn drop_all(&mut self);

    /// Runs before the node says that it is ready.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// One instance of an engine of either kind.
pub enum EngineKind {
    /// Runs a batch at a time.
    Batched(Box<dyn Engine>),
    /// Answers each sample for itself.
    Streaming(Box<dyn StreamingEngine>),
}

impl std::fmt::Debug for EngineKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Batched(_) => "Batched",
            Self::Streaming(_) => "Streaming",
        })
    }
}

impl EngineKind {
    /// Runs one batch, when none is under way; only an engine of the first kind can.
    pub fn infer(&mut self, batch: Vec<Payload>) -> Result<Inference, EngineError> {
        match self {
            Self::Batched(engine) => engine.infer(batch),
            Self::Streaming(_) => Err(EngineError::Failed("it runs no batches".into())),
        }
    }

    /// Runs before the node says that it is ready.
    pub(crate) fn warm_up(&mut self) -> Result<(), EngineError> {
        match self {
            Self::Batched(engine) => engine.warm_up(),
            Self::Streaming(engine) => engine.warm_up(),
        }
    }
}

/// What a batch gave.
#[derive(Debug)]
pub struct Inference {
    /// One response for each sample, in the batch's order, or why that sample has none.
    pub answers: Vec<Result<Bytes, EngineError>>,
    /// Time that it took to put the input together.
    pub prepare: Duration,
}

impl Inference {
    /// The responses, or the first error.
    pub fn responses(self) -> Result<Vec<Bytes>, EngineError> {
        self.answers.into_iter().collect()
    }
}
