//! Batches in which each sample becomes its own row, on several threads. Each response is computed
//! from the sample's rows of the outputs.

use std::sync::Arc;

use bytes::Bytes;
use rayon::{ThreadPool, prelude::*};

use crate::model::{
    payload::Payload,
    workload::{Job, Pass, SampleResponse, bad_sample, no_answer, rows_of},
};

/// Processing of a single sample.
pub(super) trait PerSample: Send + Sync + 'static {
    /// Writes the sample's row of the model's input. Fails with a text if the sample is invalid.
    fn fill(&self, row: &mut [u8], sample: &[u8]) -> Result<(), String>;

    /// Returns the response, from the sample's row of each output.
    fn answer(&self, rows: &[&[u8]]) -> Bytes;
}

/// Batch of independent rows. The row of an invalid sample is zeros, and its response is an error.
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
        let rows = self.batch.len();
        (!std::mem::replace(&mut self.asked, true)).then_some(Pass { rows, lengths: Vec::new() })
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
        let rows: Vec<Vec<_>> =
            outputs.iter().map(|output| rows_of(output, self.batch.len()).collect()).collect();
        let answer = |place: usize| {
            let own: Vec<_> = rows.iter().map(|rows| rows[place]).collect();
            self.workload.answer(&own)
        };
        self.answers =
            self.threads.install(|| (0..self.batch.len()).into_par_iter().map(answer).collect());
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
