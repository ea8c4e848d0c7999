//! Work of engines that run a batch at a time. Each client's stream receives all its replies to a
//! batch at once.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use netdiv_contract::encoding::Encoding;
use netdiv_node_common::words::count;
use tracing::error;

use crate::{
    engine::{
        answer::{BatchReply, Times, failure, reply},
        interface::{BatchAnswers, DoneCallback, Engine},
        work::{EngineWork, drop_abandoned, guarded},
    },
    ground::{clock::Clock, engine_activity::EngineActivity, error::EngineError, metrics},
    sample::queued_sample::QueuedSample,
};

/// Adapter through which a thread drives an engine that runs a batch at a time. It holds the
/// batches that have begun and not finished.
pub(crate) struct BatchedWork {
    engine: Box<dyn Engine>,
    encoding: Encoding,
    pulse: Arc<EngineActivity>,
    clock: Clock,
    begun: VecDeque<BegunBatch>,
    /// Time at which the device finished the previous batch.
    before: Option<Instant>,
}

impl BatchedWork {
    pub(crate) fn new(
        engine: Box<dyn Engine>,
        encoding: Encoding,
        pulse: Arc<EngineActivity>,
        clock: Clock,
    ) -> Self {
        Self { engine, encoding, pulse, clock, begun: VecDeque::new(), before: None }
    }
}

impl EngineWork for BatchedWork {
    fn warm_up(&mut self) -> Result<(), EngineError> {
        self.engine.warm_up()
    }

    fn is_idle(&self) -> bool {
        self.begun.is_empty()
    }

    fn room(&self) -> usize {
        if self.begun.len() < self.engine.max_in_flight() { usize::MAX } else { 0 }
    }

    fn begin(&mut self, samples: Vec<QueuedSample>) {
        self.begun.extend(BegunBatch::new(self.engine.as_mut(), samples, &self.pulse, self.clock));
    }

    fn when_done(&mut self, done: DoneCallback) -> bool {
        // After a panic, `finish` reports that the batch is lost.
        let told = guarded(|| self.engine.when_done(done));
        told.inspect_err(|error| error!(%error, "cannot begin a batch")).unwrap_or(false)
    }

    /// Finishes the batch that was begun first.
    fn step(&mut self) {
        if let Some(batch) = self.begun.pop_front() {
            let (engine, before) = (self.engine.as_mut(), self.before);
            let done = batch.finish(engine, self.encoding, &self.pulse, self.clock, before);
            self.before = Some(done);
        }
    }
}

/// Runs one batch and answers each of its samples, on a thread that no watchdog observes.
pub(crate) fn run_batch(
    engine: &mut dyn Engine,
    batch: Vec<QueuedSample>,
    response_encoding: Encoding,
) {
    let (pulse, clock) = (EngineActivity::default(), Clock::default());
    if let Some(begun) = BegunBatch::new(engine, batch, &pulse, clock) {
        begun.finish(engine, response_encoding, &pulse, clock, None);
    }
}

struct BegunBatch {
    batch: Vec<QueuedSample>,
    taken: Instant,
}

impl BegunBatch {
    /// Begins a batch without the samples whose clients have gone. Returns `None` if no sample
    /// remains.
    fn new(
        engine: &mut dyn Engine,
        mut batch: Vec<QueuedSample>,
        pulse: &EngineActivity,
        clock: Clock,
    ) -> Option<Self> {
        let taken = clock.now();
        drop_abandoned(&mut batch);
        if batch.is_empty() {
            return None;
        }
        pulse.record_begin(batch.len(), taken);
        let payloads = batch.iter_mut().map(|sample| std::mem::take(&mut sample.payload)).collect();
        // After a panic, `finish` reports that the batch is missing.
        if let Err(error) = guarded(|| engine.begin(payloads)) {
            error!(%error, "cannot begin a batch");
        }
        Some(Self { batch, taken })
    }

    /// Waits for the batch, and answers its samples. Returns the time at which it was done.
    /// `before` is the time at which the previous batch was done.
    fn finish(
        self,
        engine: &mut dyn Engine,
        encoding: Encoding,
        pulse: &EngineActivity,
        clock: Clock,
        before: Option<Instant>,
    ) -> Instant {
        let outcome = finish(engine, self.batch.len());
        let now = clock.now();
        let time = now.saturating_duration_since(self.taken);
        match &outcome {
            Err(error) if error.is_lost_device() => pulse.lost(error.to_string()),
            _ => pulse.record_finish(is_failure(&outcome), now),
        }
        // The batcher puts the oldest sample of a batch first.
        let oldest = self.batch.first().map_or(self.taken, |sample| sample.arrived);
        metrics::batch(self.batch.len(), self.taken.saturating_duration_since(oldest), time);
        let batch_size = u32::try_from(self.batch.len()).unwrap_or(u32::MAX);
        let prepare = outcome.as_ref().map_or(Duration::ZERO, |answered| answered.prepare);
        // The batch was prepared while the previous one computed, and then waited for that one.
        let waited = before.map_or(Duration::ZERO, |before| {
            before.min(now).saturating_duration_since(self.taken + prepare)
        });
        let compute = time.saturating_sub(prepare + waited);
        let times = Times { accepted_at: self.taken, waited, prepare, compute, batch_size };
        answer(self.batch, outcome, &times, encoding);
        now
    }
}

/// Waits for the engine's oldest batch, which has `samples` samples, and returns its result. A
/// panic or a wrong number of answers counts as a failure of the engine, and the node continues.
fn finish(engine: &mut dyn Engine, samples: usize) -> Result<BatchAnswers, EngineError> {
    let outcome = match guarded(|| engine.finish()).flatten() {
        Ok(answered) if answered.answers.len() != samples => {
            let answers = count(answered.answers.len(), "answer");
            Err(EngineError::Failed(format!("{answers} for {}", count(samples, "sample"))))
        }
        outcome => outcome,
    };
    if let Err(failure) = &outcome {
        error!(%failure, samples, "a batch failed");
        metrics::failed_batch();
    }
    outcome
}

/// Returns true if no sample received a response, and the engine is to blame and not a sample.
fn is_failure(outcome: &Result<BatchAnswers, EngineError>) -> bool {
    let failed = |error: &EngineError| !error.is_bad_sample();
    match outcome {
        Ok(answered) => answered.answers.iter().all(|answer| answer.as_ref().is_err_and(failed)),
        Err(error) => failed(error),
    }
}

/// Sends every sample of a batch its reply.
fn answer(
    mut batch: Vec<QueuedSample>,
    outcome: Result<BatchAnswers, EngineError>,
    times: &Times,
    encoding: Encoding,
) {
    let mut replies = BatchReply::new(batch.len());
    match outcome {
        Ok(answered) => {
            let counts = answered.token_counts.into_iter().chain(std::iter::repeat(0));
            for ((sample, answer), token_count) in
                batch.iter_mut().zip(answered.answers).zip(counts)
            {
                let response = replies.add(sample);
                reply(sample, answer, times, encoding, response);
                response.token_count = token_count;
            }
        }
        Err(why) => {
            for sample in &mut batch {
                *replies.add(sample) = failure(sample, &why, times);
            }
        }
    }
    replies.send();
}
