//! One instance: batches become passes, passes go through the plug-in's slots.
//!
//! While a pass is computed, the next one is put together and copied to the device, where the plug-in has more than one slot.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use netdiv_plugin::{Batch, Instance, PluginError, Tensor};
use tracing::warn;

use super::PluginConfig;
use crate::{
    config::Batching,
    engine::{Engine, EngineError, Inference},
    manifest::Shape,
    workload::{Answer, Job, Pass, Workload},
};

pub(super) struct PluginEngine {
    instance: Instance,
    settings: PluginConfig,
    workload: Arc<dyn Workload>,
    /// Longest batch, in samples.
    max_batch: usize,
    /// Lengths that padded batches are rounded up to.
    buckets: Vec<usize>,
    /// Memory of slots that hold no batch.
    spare: Vec<Batch>,
    /// Batches, the oldest first.
    running: VecDeque<Running>,
    /// Numbers of the batch that is begun next and of the one that is finished next.
    next: usize,
    oldest: usize,
    /// Passes that were begun: their slot, their rows and the number of their batch; the oldest first.
    begun: VecDeque<(usize, usize, usize)>,
}

/// A batch on its way.
struct Running {
    number: usize,
    batch: Vec<Bytes>,
    job: Box<dyn Job>,
    /// Passes that are begun and not finished.
    passes: usize,
    /// All passes are begun.
    exhausted: bool,
    failure: Option<PluginError>,
    prepare: Duration,
}

impl PluginEngine {
    pub(super) fn new(
        instance: Instance,
        settings: PluginConfig,
        workload: Arc<dyn Workload>,
        batching: &Batching,
    ) -> Self {
        Self {
            instance,
            settings,
            workload,
            max_batch: batching.max_batch,
            buckets: batching.buckets.clone(),
            spare: Vec::new(),
            running: VecDeque::new(),
            next: 0,
            oldest: 0,
            begun: VecDeque::new(),
        }
    }

    fn start(&self, number: usize, batch: Vec<Bytes>) -> Running {
        let job = self.workload.clone().job(batch.clone());
        Running {
            number,
            batch,
            job,
            passes: 0,
            exhausted: false,
            failure: None,
            prepare: Duration::ZERO,
        }
    }

    /// Begins passes while a slot is free.
    fn pump(&mut self) {
        while let Some(slot) = self.instance.free_slot() {
            let waits = |running: &Running| !running.exhausted && running.failure.is_none();
            let Some(place) = self.running.iter().position(waits) else { return };
            let mut running = self.running.remove(place);
            if let Some(running) = &mut running
                && let Some(rows) = self.begin_pass(running, slot)
            {
                self.begun.push_back((slot, rows, running.number));
            }
            running.into_iter().for_each(|running| self.running.insert(place, running));
        }
    }

    /// Begins a batch's next pass; gives its rows when it is under way.
    fn begin_pass(&mut self, running: &mut Running, slot: usize) -> Option<usize> {
        let Some(pass) = running.job.next_pass() else {
            running.exhausted = true;
            return None;
        };
        let started = Instant::now();
        let begun = self.stage(&pass).and_then(|mut batch| {
            let mut inputs: Vec<_> =
                batch.inputs.iter_mut().map(|input| split(input, pass.rows)).collect();
            let mut rows: Vec<_> = inputs.iter_mut().map(|(rows, _)| &mut **rows).collect();
            running.job.fill(&mut rows);
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

    /// Waits for a pass of that batch.
    fn finish_pass(&mut self, running: &mut Running, slot: usize, rows: usize) {
        running.passes -= 1;
        let Some((mut batch, finished)) = self.instance.finish(slot) else { return };
        match finished {
            Ok(()) => {
                let outputs: Vec<_> =
                    batch.outputs.iter_mut().map(|output| &*split(output, rows).0).collect();
                running.job.take(&outputs);
            }
            Err(error) => {
                running.failure.get_or_insert(error);
            }
        }
        self.spare.push(batch);
    }

    /// Memory of the pass's shapes: rows rounded up to a batch size, lengths to a bucket.
    fn stage(&mut self, pass: &Pass) -> Result<Batch, PluginError> {
        let rows = round_up(pass.rows, &self.settings.batch_sizes);
        let mut lengths = pass.lengths.clone();
        if self.workload.pads() {
            lengths.iter_mut().for_each(|length| *length = round_up(*length, &self.buckets));
        }
        let shapes = |shapes: &[Shape]| -> Vec<_> {
            shapes.iter().map(|shape| (shape.data_type, shape.of_batch(rows, &lengths))).collect()
        };
        let manifest = &self.settings.manifest;
        let (inputs, outputs) = (shapes(&manifest.inputs), shapes(&manifest.outputs));
        let batch = self.spare.pop().unwrap_or(Batch { inputs: Vec::new(), outputs: Vec::new() });
        let fit = |tensors: Vec<Tensor>, shapes: &[_]| -> Result<Vec<Tensor>, PluginError> {
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

    /// Runs a batch that did not fit into the device's memory in two halves, one after the other.
    fn run_halves(&mut self, batch: &[Bytes], why: &PluginError) -> Vec<Answer> {
        let (first, second) = batch.split_at(batch.len() / 2);
        warn!(samples = batch.len(), %why, "a batch is run again in halves");
        let mut answers = self.run_alone(first.to_vec());
        answers.extend(self.run_alone(second.to_vec()));
        answers
    }

    fn run_alone(&mut self, batch: Vec<Bytes>) -> Vec<Answer> {
        // It is in no queue and needs no number of its own.
        let mut running = self.start(self.oldest, batch);
        while !running.exhausted && running.failure.is_none() {
            // The batch that failed has left its slot.
            let Some(slot) = self.instance.free_slot() else { break };
            if let Some(rows) = self.begin_pass(&mut running, slot) {
                self.finish_pass(&mut running, slot, rows);
            }
        }
        self.answers(running)
    }

    fn answers(&mut self, running: Running) -> Vec<Answer> {
        match running.failure {
            None => running.job.answers(),
            Some(PluginError::OutOfMemory(why)) if running.batch.len() > 1 => {
                // What was put by for the large batch is in the way of the halves.
                self.spare.clear();
                self.run_halves(&running.batch, &PluginError::OutOfMemory(why))
            }
            Some(failure) => {
                let why = failure.to_string();
                running.batch.iter().map(|_| Err(EngineError::Failed(why.clone()))).collect()
            }
        }
    }

    fn warm_up_pass(&mut self, pass: &Pass) -> Result<(), PluginError> {
        let mut batch = self.stage(pass)?;
        batch.inputs.iter_mut().for_each(|input| input.data_mut().fill(0));
        let warm = self.instance.warm_up(&batch);
        self.spare.push(batch);
        warm
    }

    /// The most samples that fit, found by halving; 0 when not even one does.
    fn what_fits(&mut self) -> usize {
        // They may be what is too large.
        self.settings.batch_sizes.clear();
        let mut samples = self.max_batch / 2;
        while samples > 0 {
            self.spare.clear();
            let passes = self.workload.warm_up(&[samples], &self.buckets);
            if passes.iter().all(|pass| self.warm_up_pass(pass).is_ok()) {
                return samples;
            }
            samples /= 2;
        }
        0
    }
}

impl Engine for PluginEngine {
    fn in_flight(&self) -> usize {
        self.instance.in_flight()
    }

    fn begin(&mut self, batch: Vec<Bytes>) {
        let number = self.next;
        self.next += 1;
        let running = self.start(number, batch);
        self.running.push_back(running);
        self.pump();
    }

    fn finish(&mut self) -> Result<Inference, EngineError> {
        let number = self.oldest;
        self.oldest += 1;
        loop {
            self.pump();
            let oldest = self.running.front().filter(|running| running.number == number);
            let done = |running: &Running| {
                running.passes == 0 && (running.exhausted || running.failure.is_some())
            };
            if oldest.is_none_or(done) {
                break;
            }
            let Some((slot, rows, number)) = self.begun.pop_front() else { break };
            match self.running.iter().position(|running| running.number == number) {
                Some(place) => {
                    if let Some(mut running) = self.running.remove(place) {
                        self.finish_pass(&mut running, slot, rows);
                        self.running.insert(place, running);
                    }
                }
                // Its batch was lost in a panic.
                None => drop(self.instance.finish(slot)),
            }
        }
        let is_it = self.running.front().is_some_and(|running| running.number == number);
        let lost = || EngineError::Failed("the batch was lost in a panic".into());
        let running = is_it.then(|| self.running.pop_front()).flatten().ok_or_else(lost)?;
        let prepare = running.prepare;
        Ok(Inference { answers: self.answers(running), prepare })
    }

    /// Runs zeros of every shape that is known to come, the largest first.
    fn warm_up(&mut self) -> Result<(), EngineError> {
        let mut rows = match self.settings.batch_sizes.is_empty() {
            true => vec![1, self.max_batch],
            false => self.settings.batch_sizes.clone(),
        };
        rows.sort_unstable_by(|a, b| b.cmp(a));
        rows.dedup();
        for pass in self.workload.warm_up(&rows, &self.buckets) {
            if let Err(error) = self.warm_up_pass(&pass) {
                let why = match error {
                    PluginError::OutOfMemory(why) => match self.what_fits() {
                        0 => format!("not even one sample fits into the device's memory: {why}"),
                        fits => format!(
                            "a batch of {} does not fit into the device's memory, one of {fits} does; give --max-batch \
                             {fits} and no larger --batch-sizes ({why})",
                            self.max_batch
                        ),
                    },
                    error => error.to_string(),
                };
                let path = self.settings.manifest.model.display().to_string();
                return Err(EngineError::Unsupported { path, why });
            }
        }
        Ok(())
    }
}

/// The bytes of the first rows of a tensor, and of the others.
fn split(tensor: &mut Tensor, rows: usize) -> (&mut [u8], &mut [u8]) {
    let all = tensor.shape()[0].max(1);
    let row_bytes = tensor.data().len() / all;
    tensor.data_mut().split_at_mut(row_bytes * rows)
}

/// The smallest of the steps that is not less; the value itself when all are less.
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
