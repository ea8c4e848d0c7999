//! `tensors`: samples are the model's inputs, responses are the bytes of its first output.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use netdiv_contract::layout::InputLayout;
use rayon::{ThreadPool, prelude::*};

use crate::model::{
    manifest::{Manifest, free_lengths},
    payload::Payload,
    workload::{Job, Pass, SampleResponse, Workload, bad_sample, no_answer, rows_of},
    workloads::parameters,
};

#[derive(Debug)]
pub(super) struct TensorsWorkload {
    manifest: Arc<Manifest>,
    layout: InputLayout,
    /// Bytes of a response; 0 if its length is free.
    answer_bytes: u64,
    threads: Arc<ThreadPool>,
}

/// Minimum size of an input that several threads copy, in bytes. A single thread has copied a
/// smaller input before other threads wake.
const PARALLEL_BYTES: usize = 1 << 20;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParameters {}

impl TensorsWorkload {
    pub(super) fn new(manifest: &Arc<Manifest>, threads: &Arc<ThreadPool>) -> Result<Self, String> {
        parameters::read::<NoParameters>(manifest)?;
        let (layout, threads) = (wire_layout(manifest), threads.clone());
        let answer_bytes =
            manifest.outputs.first().and_then(|output| output.row_bytes(&[])).unwrap_or(0);
        Ok(Self { manifest: manifest.clone(), layout, answer_bytes, threads })
    }
}

/// Returns the layout of samples that are the model's inputs without the batch dimension.
pub(super) fn wire_layout(manifest: &Manifest) -> InputLayout {
    InputLayout { tensors: manifest.inputs.iter().map(|shape| shape.spec()).collect() }
}

impl Workload for TensorsWorkload {
    fn layout(&self) -> InputLayout {
        self.layout.clone()
    }

    fn working_bytes(&self, _: u64) -> u64 {
        self.answer_bytes
    }

    fn may_be_empty(&self) -> bool {
        true
    }

    fn job(self: Arc<Self>, batch: Arc<[Payload]>) -> Box<dyn Job> {
        Stack::job(&self.manifest, &self.threads, batch, |_| Ok(()), Bytes::copy_from_slice)
    }

    fn warm_up(&self, rows: &[usize], _: &[usize]) -> Vec<Pass> {
        match self.manifest.free() {
            0 => rows.iter().copied().map(Pass::of_rows).collect(),
            // The lengths of the samples are not known yet.
            _ => Vec::new(),
        }
    }
}

/// Batch that runs the samples of each shape in one pass. Each sample is a row of its pass.
pub(super) struct Stack {
    /// Converts a row of the model's first output to a response.
    answer: fn(&[u8]) -> Bytes,
    threads: Arc<ThreadPool>,
    batch: Arc<[Payload]>,
    answers: Vec<SampleResponse>,
    groups: Vec<Group>,
    asked: usize,
    taken: usize,
}

struct Group {
    lengths: Vec<usize>,
    places: Vec<usize>,
}

impl Stack {
    /// Creates the batch, without the samples that `check` refuses.
    pub(super) fn job(
        manifest: &Manifest,
        threads: &Arc<ThreadPool>,
        batch: Arc<[Payload]>,
        check: impl Fn(&Payload) -> Result<(), String>,
        answer: fn(&[u8]) -> Bytes,
    ) -> Box<Self> {
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = HashMap::new();
        let mut answers = Vec::with_capacity(batch.len());
        for (place, payload) in batch.iter().enumerate() {
            let lengths = check(payload)
                .and_then(|()| free_lengths(&manifest.inputs, manifest.free(), payload.tensors()));
            let lengths = match lengths {
                Ok(lengths) => lengths,
                Err(why) => {
                    answers.push(Err(bad_sample(why)));
                    continue;
                }
            };
            answers.push(no_answer());
            let group = *group_of.entry(lengths.clone()).or_insert_with(|| {
                groups.push(Group { lengths, places: Vec::new() });
                groups.len() - 1
            });
            groups[group].places.push(place);
        }
        let threads = threads.clone();
        Box::new(Self { answer, threads, batch, answers, groups, asked: 0, taken: 0 })
    }
}

impl Job for Stack {
    fn next_pass(&mut self) -> Option<Pass> {
        let group = self.groups.get(self.asked)?;
        self.asked += 1;
        Some(Pass { rows: group.places.len(), lengths: group.lengths.clone() })
    }

    fn write_inputs(&mut self, inputs: &mut [&mut [u8]]) {
        let places = &self.groups[self.asked - 1].places;
        for (number, input) in inputs.iter_mut().enumerate() {
            let row_bytes = (input.len() / places.len().max(1)).max(1);
            let copy = |(row, place): (&mut [u8], &usize)| {
                row.copy_from_slice(&self.batch[*place].tensors()[number].data);
            };
            if input.len() < PARALLEL_BYTES {
                input.chunks_exact_mut(row_bytes).zip(places).for_each(copy);
            } else {
                let rows = input.par_chunks_exact_mut(row_bytes).zip(places);
                self.threads.install(|| rows.for_each(copy));
            }
        }
    }

    fn read_outputs(&mut self, outputs: &[&[u8]]) {
        let places = std::mem::take(&mut self.groups[self.taken].places);
        for (place, row) in places.iter().zip(rows_of(outputs[0], places.len())) {
            self.answers[*place] = Ok((self.answer)(row));
        }
        self.taken += 1;
    }

    fn answers(self: Box<Self>) -> Vec<SampleResponse> {
        self.answers
    }
}
