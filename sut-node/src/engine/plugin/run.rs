//! An instance of a model that maps tensors to tensors. A batch becomes one or more passes (runs of
//! the model), which run in the plug-in's slots.
//!
//! While a pass computes, the next one is prepared and copied to the device, if the plug-in has
//! more than one slot.

use std::{
    collections::VecDeque,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use netdiv_plugin::{Batch, PluginError, PluginInstance, PluginTensor};
use tracing::warn;

use crate::{
    batching::batcher::BatchLimits,
    engine::{
        interface::{BatchAnswers, DoneCallback, Engine},
        plugin::{batch_waiter::BatchWaiter, settings::TensorPluginConfig},
    },
    ground::error::EngineError,
    model::{
        manifest::Shape,
        payload::Payload,
        workload::{Job, Lengths, Pass, SampleResponse, Workload},
    },
};

pub(super) struct PluginEngine {
    instance: PluginInstance,
    /// Thread that waits for the plug-in's batches, if the plug-in supports this.
    waiting: Option<BatchWaiter>,
    settings: TensorPluginConfig,
    workload: Arc<dyn Workload>,
    /// Maximum number of samples in a batch.
    max_batch: usize,
    /// Maximum number of tokens in a batch.
    max_tokens: Option<usize>,
    /// Numbers of rows to which passes are padded.
    row_steps: Vec<usize>,
    /// Lengths to which the samples of a pass are padded.
    length_steps: Vec<usize>,
    /// Spare memory for batches, which no slot uses.
    spare: Vec<Batch>,
    /// Batches that have begun and not finished, oldest first.
    running: VecDeque<BatchInFlight>,
    /// Number of the next batch to begin.
    next: usize,
    /// Number of the next batch to finish.
    oldest: usize,
    /// Passes in slots, oldest first.
    begun: VecDeque<BegunPass>,
}

struct BegunPass {
    slot: usize,
    rows: usize,
    /// Number of the batch that the pass belongs to.
    batch: usize,
}

struct BatchInFlight {
    number: usize,
    batch: Arc<[Payload]>,
    job: Box<dyn Job>,
    /// Number of passes that are begun and not finished.
    passes: usize,
    /// Set once all passes are begun.
    exhausted: bool,
    failure: Option<PluginError>,
    prepare: Duration,
}

impl PluginEngine {
    pub(super) fn new(
        instance: PluginInstance,
        settings: TensorPluginConfig,
        workload: Arc<dyn Workload>,
        batching: &BatchLimits,
    ) -> io::Result<Self> {
        let waiter = instance.waiter().filter(|_| instance.in_flight() > 1);
        Ok(Self {
            waiting: waiter.map(BatchWaiter::start).transpose()?,
            row_steps: workload.row_steps(&settings.batch_sizes),
            length_steps: workload.length_steps(&batching.buckets),
            instance,
            settings,
            workload,
            max_batch: batching.max_batch,
            max_tokens: batching.max_tokens,
            spare: Vec::new(),
            running: VecDeque::new(),
            next: 0,
            oldest: 0,
            begun: VecDeque::new(),
        })
    }

    fn start(&self, number: usize, batch: Arc<[Payload]>) -> BatchInFlight {
        let job = self.workload.clone().job(batch.clone());
        BatchInFlight {
            number,
            batch,
            job,
            passes: 0,
            exhausted: false,
            failure: None,
            prepare: Duration::ZERO,
        }
    }

    /// Begins passes of the oldest batches while a slot is free.
    fn pump(&mut self) {
        while let Some(slot) = self.instance.free_slot() {
            let waits = |running: &BatchInFlight| !running.exhausted && running.failure.is_none();
            let Some(place) = self.running.iter().position(waits) else { return };
            let Some(mut running) = self.running.remove(place) else { return };
            if let Some(rows) = self.begin_pass(&mut running, slot, Padding::Up) {
                self.begun.push_back(BegunPass { slot, rows, batch: running.number });
            }
            self.running.insert(place, running);
        }
    }

    /// Begins a batch's next pass in a slot. Returns the pass's number of rows; `None` if the batch
    /// has no further pass, or if the pass has failed.
    fn begin_pass(
        &mut self,
        running: &mut BatchInFlight,
        slot: usize,
        fill: Padding,
    ) -> Option<usize> {
        let Some(pass) = running.job.next_pass() else {
            running.exhausted = true;
            return None;
        };
        let started = Instant::now();
        let begun = self.stage(&pass, fill).and_then(|mut batch| {
            let mut inputs: Vec<_> =
                batch.inputs.iter_mut().map(|input| split(input, pass.rows)).collect();
            let mut rows: Vec<_> = inputs.iter_mut().map(|(rows, _)| &mut **rows).collect();
            running.job.write_inputs(&mut rows);
            inputs.into_iter().for_each(|(_, padding)| padding.fill(0));
            running.prepare += started.elapsed();
            self.instance.begin(slot, batch).map_err(|(error, batch)| {
                self.spare.push(batch);
                error
            })
        });
        match begun {
            Ok(()) => {
                running.passes += 1;
                Some(pass.rows)
            }
            Err(error) => {
                running.failure = Some(error);
                None
            }
        }
    }

    /// Waits for the batch's pass in a slot, and lets the batch's job read the outputs of its
    /// `rows` rows.
    fn finish_pass(&mut self, running: &mut BatchInFlight, slot: usize, rows: usize) {
        running.passes -= 1;
        let Some((mut batch, finished)) = self.instance.finish(slot) else { return };
        match finished {
            // A job assigns outputs to its passes by counting. After a failed pass, it would assign
            // these outputs to that pass.
            Ok(()) if running.failure.is_none() => {
                let outputs: Vec<_> =
                    batch.outputs.iter_mut().map(|output| &*split(output, rows).0).collect();
                running.job.read_outputs(&outputs);
            }
            Ok(()) => {}
            Err(error) => {
                running.failure.get_or_insert(error);
            }
        }
        self.spare.push(batch);
    }

    /// Waits for the pass that was begun first. Returns false if no pass was begun.
    fn finish_oldest(&mut self) -> bool {
        let Some(BegunPass { slot, rows, batch }) = self.begun.pop_front() else { return false };
        match self.running.iter().position(|running| running.number == batch) {
            Some(place) => {
                if let Some(mut running) = self.running.remove(place) {
                    self.finish_pass(&mut running, slot, rows);
                    self.running.insert(place, running);
                }
            }
            // The pass's batch was lost in a panic.
            None => drop(self.instance.finish(slot)),
        }
        true
    }

    /// Returns memory for the tensors of a pass, in the shapes that `fill` chooses. Reuses spare
    /// memory that is large enough.
    fn stage(&mut self, pass: &Pass, fill: Padding) -> Result<Batch, PluginError> {
        let (mut rows, mut lengths) = (pass.rows, pass.lengths.clone());
        if fill == Padding::Up {
            rows = round_up(rows, &self.row_steps);
            lengths.iter_mut().for_each(|length| *length = round_up(*length, &self.length_steps));
        }
        let shapes = |shapes: &[Shape]| -> Vec<_> {
            shapes.iter().map(|shape| (shape.data_type, shape.of_batch(rows, &lengths))).collect()
        };
        let manifest = &self.settings.manifest;
        let (inputs, outputs) = (shapes(&manifest.inputs), shapes(&manifest.outputs));
        let batch = self.spare.pop().unwrap_or(Batch { inputs: Vec::new(), outputs: Vec::new() });
        let fit =
            |tensors: Vec<PluginTensor>, shapes: &[_]| -> Result<Vec<PluginTensor>, PluginError> {
                let mut tensors = tensors.into_iter();
                let fit = |(data_type, shape): &(_, Vec<usize>)| match tensors.next() {
                    Some(mut tensor) if tensor.has_room_for(shape) => {
                        tensor.reshape(shape)?;
                        Ok(tensor)
                    }
                    outgrown => {
                        drop(outgrown);
                        self.instance.tensor(*data_type, shape)
                    }
                };
                shapes.iter().map(fit).collect()
            };
        Ok(Batch { inputs: fit(batch.inputs, &inputs)?, outputs: fit(batch.outputs, &outputs)? })
    }

    /// Returns the answers of a batch whose passes are done or abandoned. A failed batch runs again
    /// in halves: fewer samples may fit into the device's memory, and one sample that the model
    /// refuses must not fail the others. `tries` limits the halving: it counts down with the
    /// failures, and at 0 a failed batch is not divided any more.
    fn answers(&mut self, running: BatchInFlight, tries: &mut u32) -> Vec<SampleResponse> {
        let Some(failure) = running.failure else { return running.job.answers() };
        let is_full = matches!(failure, PluginError::OutOfMemory(_));
        let is_lost = self.instance.loss_reason().is_some();
        let samples = running.batch.len();
        if !is_full || samples == 1 {
            *tries = tries.saturating_sub(1);
        }
        if samples == 1 || *tries == 0 || is_lost {
            let why = failure.to_string();
            return running.batch.iter().map(|_| Err(EngineError::Failed(why.clone()))).collect();
        }
        if is_full {
            // Memory kept for the large batch would leave too little for the halves.
            self.spare.clear();
        }
        let fill = if is_full { Padding::Exactly } else { Padding::Up };
        let (first, second) = running.batch.split_at(samples / 2);
        let mut answers = self.run_alone(first, fill, tries);
        answers.extend(self.run_alone(second, fill, tries));
        answers
    }

    /// Runs samples of a failed batch as a separate batch, before passes of other batches begin.
    /// Returns their responses.
    fn run_alone(
        &mut self,
        batch: &[Payload],
        fill: Padding,
        tries: &mut u32,
    ) -> Vec<SampleResponse> {
        // This batch is not in `running`, and needs no number of its own.
        let mut running = self.start(self.oldest, batch.into());
        while !running.exhausted && running.failure.is_none() {
            let Some(slot) = self.instance.free_slot() else {
                if !self.finish_oldest() {
                    // The slots hold passes whose records were lost in a panic.
                    (0..self.max_in_flight()).for_each(|slot| drop(self.instance.finish(slot)));
                }
                continue;
            };
            if let Some(rows) = self.begin_pass(&mut running, slot, fill) {
                self.finish_pass(&mut running, slot, rows);
            }
        }
        self.answers(running, tries)
    }

    /// Returns the maximum number of rows of a pass under the limit on tokens.
    fn most_rows(&self, pass: &Pass) -> usize {
        let length = match self.workload.lengths() {
            Some(Lengths::Padded) => pass.lengths.first().copied().unwrap_or(1),
            Some(Lengths::Joined) => 1,
            None => return usize::MAX,
        };
        self.max_tokens.map_or(usize::MAX, |tokens| (tokens / length.max(1)).max(1))
    }

    fn warm_up_pass(&mut self, pass: &Pass, fill: Padding) -> Result<(), PluginError> {
        let mut batch = self.stage(pass, fill)?;
        batch.inputs.iter_mut().for_each(|input| input.data_mut().fill(0));
        let warm = self.instance.warm_up(&batch);
        self.spare.push(batch);
        warm
    }

    /// Returns advice for a batch of `largest` samples that does not fit into the device's memory.
    /// Halves the number of samples until a batch fits.
    fn memory_advice(&mut self, largest: usize) -> String {
        if !matches!(self.workload.row_steps(&[1])[..], [] | [1]) {
            return "lower `windows` in the manifest's [parameters]: they do not fit into the device's memory".into();
        }
        let mut samples = largest / 2;
        while samples > 0 {
            self.spare.clear();
            let passes = self.workload.warm_up(&[samples], &self.length_steps);
            if passes.iter().all(|pass| self.warm_up_pass(pass, Padding::Exactly).is_ok()) {
                return format!(
                    "a batch of {largest} does not fit into the device's memory, but one of {samples} does; set --max-batch \
                     {samples} and no larger --batch-sizes"
                );
            }
            samples /= 2;
        }
        "not even one sample fits into the device's memory".into()
    }
}

/// Choice of the shapes in which a pass runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Padding {
    /// Numbers of rows and lengths are rounded up to the next step.
    Up,
    /// Numbers of rows and lengths stay as they are.
    Exactly,
}

impl Engine for PluginEngine {
    fn max_in_flight(&self) -> usize {
        self.instance.in_flight()
    }

    fn begin(&mut self, batch: Vec<Payload>) {
        let number = self.next;
        self.next += 1;
        let running = self.start(number, batch.into());
        self.running.push_back(running);
        self.pump();
    }

    fn when_done(&mut self, done: DoneCallback) -> bool {
        // Begins the remaining passes, so that `exhausted` is up to date.
        self.pump();
        let Some(oldest) = self.running.front() else { return false };
        // Passes finish in order.
        let last = self.begun.iter().rev().find(|begun| begun.batch == oldest.number);
        let last = last.filter(|_| oldest.exhausted && oldest.failure.is_none());
        let last = last.and_then(|begun| self.instance.batch_in(begun.slot));
        self.waiting.as_ref().zip(last).is_some_and(|(waiting, last)| waiting.ask(last, done))
    }

    fn finish(&mut self) -> Result<BatchAnswers, EngineError> {
        let number = self.oldest;
        self.oldest += 1;
        // A panic may have left a batch that was already answered.
        while self.running.front().is_some_and(|running| running.number < number) {
            self.running.pop_front();
        }
        loop {
            self.pump();
            let oldest = self.running.front().filter(|running| running.number == number);
            let done = |running: &BatchInFlight| {
                running.passes == 0 && (running.exhausted || running.failure.is_some())
            };
            if oldest.is_none_or(done) || !self.finish_oldest() {
                break;
            }
        }
        let is_it = self.running.front().is_some_and(|running| running.number == number);
        let lost = || EngineError::Failed("the batch was lost in a panic".into());
        let running = is_it.then(|| self.running.pop_front()).flatten().ok_or_else(lost)?;
        if running.passes > 0 {
            // The batch's answers are incomplete.
            return Err(lost());
        }
        let (prepare, samples) = (running.prepare, running.batch.len());
        let is_lost = self.instance.loss_reason().is_some();
        if let Some(failure) = running.failure.as_ref().filter(|_| samples > 1 && !is_lost) {
            warn!(samples, %failure, "a batch is run again in halves");
        }
        // Enough tries to find one or two bad samples. A broken device must not be tried once per
        // sample.
        let mut tries = samples.max(1).ilog2() * 2 + 2;
        let answers = self.answers(running, &mut tries);
        match self.instance.loss_reason() {
            Some(why) => Err(PluginError::DeviceLost(why.into()).into()),
            None => Ok(BatchAnswers { answers, token_counts: Vec::new(), prepare }),
        }
    }

    /// Runs zeros of every expected shape, the largest first. Afterwards there is memory for every
    /// slot.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        let mut rows = self.settings.batch_sizes.clone();
        if rows.is_empty() {
            rows = vec![1, self.max_batch];
        }
        rows.sort_unstable_by(|a, b| b.cmp(a));
        rows.dedup();
        let mut passes = self.workload.warm_up(&rows, &self.length_steps);
        for pass in &mut passes {
            pass.rows = pass.rows.min(self.most_rows(pass));
            if let Err(error) = self.warm_up_pass(pass, Padding::Up) {
                let why = match error {
                    PluginError::OutOfMemory(why) => {
                        format!("{} ({why})", self.memory_advice(rows[0]))
                    }
                    error => error.to_string(),
                };
                let path = self.settings.manifest.model.display();
                return Err(EngineError::unsupported(path, why));
            }
        }
        // The spare batch now has room for all shapes.
        let mut all = std::mem::take(&mut self.spare);
        while all.len() < self.max_in_flight() && !passes.is_empty() {
            for pass in &passes {
                let batch = self.stage(pass, Padding::Up)?;
                self.spare.push(batch);
            }
            all.append(&mut self.spare);
        }
        self.spare = all;
        Ok(())
    }
}

/// Returns the bytes of the first `rows` rows of a tensor, and the bytes of its other rows.
fn split(tensor: &mut PluginTensor, rows: usize) -> (&mut [u8], &mut [u8]) {
    let all = tensor.shape()[0].max(1);
    let row_bytes = tensor.data().len() / all;
    tensor.data_mut().split_at_mut(row_bytes * rows)
}

/// Returns the smallest step that is at least `value`, or `value` if all steps are smaller.
fn round_up(value: usize, steps: &[usize]) -> usize {
    steps.iter().copied().filter(|step| *step >= value).min().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_up_to_the_next_step() {
        for (value, want) in [(1, 8), (8, 8), (9, 16), (17, 17)] {
            assert_eq!(round_up(value, &[16, 8]), want);
        }
        assert_eq!(round_up(5, &[]), 5);
    }
}
