//! Work of engines that answer each sample separately, out of order and in several events.

use std::{
    mem::take,
    sync::Arc,
    task::{Context, Poll},
};

use netdiv_contract::encoding::Encoding;
use tracing::error;

use crate::{
    engine::{
        interface::{StreamingEngine, WaitingEngine},
        sink::Sink,
        work::{EngineWork, drop_abandoned, guarded},
    },
    ground::{clock::Clock, engine_activity::EngineActivity, error::EngineError, metrics},
    sample::queued_sample::QueuedSample,
};

/// Adapter through which a thread or task drives a streaming engine.
pub(crate) struct StreamingWork<E: ?Sized> {
    engine: Box<E>,
    encoding: Encoding,
    pulse: Arc<EngineActivity>,
    clock: Clock,
}

impl<E: StreamingEngine + ?Sized> StreamingWork<E> {
    pub(crate) fn new(
        engine: Box<E>,
        encoding: Encoding,
        pulse: Arc<EngineActivity>,
        clock: Clock,
    ) -> Self {
        Self { engine, encoding, pulse, clock }
    }

    /// Calls the engine. After a failure or a panic, the engine's samples are answered with an
    /// error, and the node continues.
    fn call(&mut self, samples: usize, call: impl FnOnce(&mut E) -> Result<(), EngineError>) {
        self.pulse.record_begin(samples, self.clock.now());
        let engine = self.engine.as_mut();
        let outcome = guarded(|| call(&mut *engine)).flatten();
        if let Err(failure) = &outcome {
            error!(%failure, samples, "a streaming engine failed");
            metrics::failed_batch();
            // Each remaining sink reports the failure when it is dropped.
            if let Err(error) = guarded(|| engine.drop_all()) {
                error!(%error, "cannot drop its samples");
            }
        }
        match &outcome {
            Err(error) if error.is_lost_device() => self.pulse.lost(error.to_string()),
            _ => self.pulse.record_finish(outcome.is_err(), self.clock.now()),
        }
    }
}

impl StreamingWork<dyn WaitingEngine> {
    /// Returns ready once [`EngineWork::step`] has work to do.
    pub(crate) fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.engine.poll_due(context)
    }
}

impl<E: StreamingEngine + ?Sized> EngineWork for StreamingWork<E> {
    fn warm_up(&mut self) -> Result<(), EngineError> {
        self.engine.warm_up()
    }

    fn is_idle(&self) -> bool {
        self.engine.in_flight() == 0
    }

    fn room(&self) -> usize {
        self.engine.room()
    }

    fn begin(&mut self, mut samples: Vec<QueuedSample>) {
        drop_abandoned(&mut samples);
        if samples.is_empty() {
            return;
        }
        let (clock, encoding) = (self.clock, self.encoding);
        let with_sink = |mut sample: QueuedSample| {
            let payload = take(&mut sample.payload);
            (payload, Sink::new(sample, clock, encoding))
        };
        let samples: Vec<_> = samples.into_iter().map(with_sink).collect();
        self.call(samples.len(), |engine| engine.begin(samples));
    }

    fn step(&mut self) {
        self.call(self.engine.in_flight(), |engine| engine.step());
    }
}
