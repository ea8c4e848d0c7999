//! What the node asks of an engine. There are two kinds: most run a batch at a time; a streaming engine answers each sample
//! for itself, through its [`Sink`]. Each instance is owned by one thread, or by one task where it computes nothing.

use std::{
    io,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use tokio::runtime::Handle;

use crate::{engine::sink::Sink, ground::error::EngineError, model::payload::Payload};

/// What is called once something is done, on any thread.
pub(crate) type Done = Box<dyn FnOnce() + Send>;

/// One instance of an engine that runs a batch at a time.
pub(crate) trait Engine: Send {
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
}

/// One instance of an engine that answers each sample for itself, in any order and in several events.
pub(crate) trait StreamingEngine: Send {
    /// Samples that were begun and are not answered.
    fn under_way(&self) -> usize;

    /// How many more samples it takes now; at least one when none is under way.
    fn room(&self) -> usize;

    /// Begins samples, each with where its answer goes.
    fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError>;

    /// Goes on for a moment, such as one step of decoding, when samples are under way. After an error it is asked to drop all
    /// of them.
    fn step(&mut self) -> Result<(), EngineError>;

    /// Drops every sink: it has failed.
    fn drop_all(&mut self);

    /// Runs before the node says that it is ready.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// One that computes nothing: it waits for a time, or for others, and more samples may come meanwhile. Its steps are short, and
/// it is not warmed up.
pub(crate) trait WaitingEngine: StreamingEngine {
    /// Ready once there is something to do in a step.
    fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Where it runs, unless it is among the tasks that serve the streams.
    fn runtime(&self) -> Option<Handle> {
        None
    }
}

/// One instance of an engine of any kind.
pub(crate) enum EngineKind {
    /// Runs a batch at a time.
    Batched(Box<dyn Engine>),
    /// Answers each sample for itself.
    Streaming(Box<dyn StreamingEngine>),
    /// Answers each sample for itself, and computes nothing.
    Waiting(Box<dyn WaitingEngine>),
}

impl std::fmt::Debug for EngineKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Batched(_) => "Batched",
            Self::Streaming(_) => "Streaming",
            Self::Waiting(_) => "Waiting",
        })
    }
}

impl EngineKind {
    /// One that computes nothing, where the system has what it needs.
    pub(crate) fn waiting(
        engine: io::Result<impl WaitingEngine + 'static>,
    ) -> Result<Self, EngineError> {
        let engine = engine.map_err(|error| EngineError::Failed(error.to_string()))?;
        Ok(Self::Waiting(Box::new(engine)))
    }

    /// The runtime of its own, where it has one.
    pub(crate) fn runtime(&self) -> Option<Handle> {
        match self {
            Self::Waiting(engine) => engine.runtime(),
            Self::Batched(_) | Self::Streaming(_) => None,
        }
    }
}

/// What a batch gave.
#[derive(Debug)]
pub(crate) struct Inference {
    /// One response for each sample, in the batch's order, or why that sample has none.
    pub answers: Vec<Result<Bytes, EngineError>>,
    /// Time that it took to put the input together.
    pub prepare: Duration,
}

impl Inference {
    /// The responses, or the first error.
    pub(crate) fn responses(self) -> Result<Vec<Bytes>, EngineError> {
        self.answers.into_iter().collect()
    }
}
