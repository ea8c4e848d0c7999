//! Batches in which each sample becomes its own row. Each response is computed from the sample's
//! rows of the outputs.

use std::{mem::replace, sync::Arc};

use bytes::Bytes;
use netdiv_contract::layout::{DataType, element_bytes};
use rayon::{ThreadPool, prelude::*};

use crate::model::{
    payload::Payload,
    workload::{Job, Pass, SampleResponse, bad_sample, first_answers, no_answer, rows_of},
};

/// Processing of a single sample.
pub(super) trait PerSample: Send + Sync + 'static {
    /// Writes the sample's row of the model's input. Fails with a text if the sample is invalid.
    fn fill(&self, row: &mut [u8], sample: &[u8]) -> Result<(), String>;

    /// Returns the response, from the sample's row of each output.
    fn answer(&self, row: OutputRow<'_>) -> Bytes;
}

/// A sample's row of each output.
#[derive(Clone, Copy)]
pub(super) struct OutputRow<'a> {
    outputs: &'a [&'a [u8]],
    /// Number of rows of each output.
    rows: usize,
    place: usize,
}

impl<'a> OutputRow<'a> {
    /// Returns the row of the output with this number.
    pub(super) fn of(self, output: usize) -> &'a [u8] {
        rows_of(self.outputs[output], self.rows).nth(self.place).unwrap_or_default()
    }
}

/// Batch of independent rows, on several threads. The row of an invalid sample is zeros, and its
/// response is an error.
pub(super) struct Rows<W> {
    workload: Arc<W>,
    threads: Arc<ThreadPool>,
    batch: Arc<[Payload]>,
    asked: bool,
    /// Outcome of [`PerSample::fill`] for each sample.
    read: Vec<Result<(), String>>,
    /// Response to each sample, after the model has run.
    answers: Vec<Bytes>,
}

impl<W: PerSample> Rows<W> {
    pub(super) fn job(
        workload: Arc<W>,
        threads: Arc<ThreadPool>,
        batch: Arc<[Payload]>,
    ) -> Box<Self> {
        let (read, answers) = (Vec::new(), Vec::new());
        Box::new(Self { workload, threads, batch, asked: false, read, answers })
    }
}

impl<W: PerSample> Job for Rows<W> {
    fn next_pass(&mut self) -> Option<Pass> {
        (!replace(&mut self.asked, true)).then(|| Pass::of_rows(self.batch.len()))
    }

    fn write_inputs(&mut self, inputs: &mut [&mut [u8]]) {
        let row_bytes = (inputs[0].len() / self.batch.len().max(1)).max(1);
        let fill = |(row, sample): (&mut [u8], &Payload)| {
            self.workload.fill(row, sample.bytes()).inspect_err(|_| row.fill(0))
        };
        let rows = inputs[0].par_chunks_exact_mut(row_bytes).zip(&self.batch[..]);
        self.read = self.threads.install(|| rows.map(fill).collect());
    }

    fn read_outputs(&mut self, outputs: &[&[u8]]) {
        let rows = self.batch.len();
        let answer = |place| self.workload.answer(OutputRow { outputs, rows, place });
        self.answers = self.threads.install(|| (0..rows).into_par_iter().map(answer).collect());
    }

    fn answers(self: Box<Self>) -> Vec<SampleResponse> {
        let mut answers = self.answers.into_iter();
        let answer = |read: Result<(), String>| match (read, answers.next()) {
            (Err(why), _) => Err(bad_sample(why)),
            (Ok(()), Some(answer)) => Ok(answer),
            (Ok(()), None) => no_answer(),
        };
        self.read.into_iter().map(answer).collect()
    }
}

/// Batch of samples that are `N` lists of whole numbers, one for each input of the model. Rows are
/// padded with zeros. The row of an invalid sample is zeros, and its response is an error.
pub(super) struct NumberRows<const N: usize> {
    samples: Vec<Result<[Vec<i64>; N], String>>,
    /// Size of a number in the inputs, in bytes.
    width: usize,
    /// Lengths of the free dimensions.
    lengths: Vec<usize>,
    /// Converts a sample's row of the outputs, and the length of its first list, to its response.
    answer: fn(OutputRow<'_>, usize) -> Bytes,
    asked: bool,
    answers: Vec<SampleResponse>,
}

impl<const N: usize> NumberRows<N> {
    pub(super) fn job(
        samples: Vec<Result<[Vec<i64>; N], String>>,
        data_type: DataType,
        lengths: Vec<usize>,
        answer: fn(OutputRow<'_>, usize) -> Bytes,
    ) -> Box<Self> {
        let (width, answers) = (element_bytes(data_type), first_answers(&samples));
        Box::new(Self { samples, width, lengths, answer, asked: false, answers })
    }
}

impl<const N: usize> Job for NumberRows<N> {
    fn next_pass(&mut self) -> Option<Pass> {
        let is_next = !replace(&mut self.asked, true) && self.samples.iter().any(Result::is_ok);
        is_next.then(|| Pass { rows: self.samples.len(), lengths: self.lengths.clone() })
    }

    fn write_inputs(&mut self, inputs: &mut [&mut [u8]]) {
        for (list, input) in inputs.iter_mut().enumerate() {
            // The length may have been rounded up.
            let row_bytes = input.len() / self.samples.len().max(1);
            input.fill(0);
            for (row, lists) in input.chunks_exact_mut(row_bytes.max(1)).zip(&self.samples) {
                let Ok(lists) = lists else { continue };
                for (to, number) in row.chunks_exact_mut(self.width).zip(&lists[list]) {
                    to.copy_from_slice(&number.to_le_bytes()[..self.width]);
                }
            }
        }
    }

    fn read_outputs(&mut self, outputs: &[&[u8]]) {
        let rows = self.samples.len();
        for (place, (answer, lists)) in self.answers.iter_mut().zip(&self.samples).enumerate() {
            if let Ok(lists) = lists {
                let row = OutputRow { outputs, rows, place };
                *answer = Ok((self.answer)(row, lists[0].len()));
            }
        }
    }

    fn answers(self: Box<Self>) -> Vec<SampleResponse> {
        self.answers
    }
}
