//! An instance that runs batches of tensors in a worker. Two batches are in flight, so that the
//! worker finds the next one ready.

use std::{
    collections::VecDeque,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use netdiv_contract::layout::element_bytes;

use crate::{
    engine::{
        interface::{BatchAnswers, DoneCallback, Engine},
        python::outcomes::{Outcome, Outcomes, SLOTS},
    },
    ground::{engine_activity::Loss, error::EngineError},
    model::{
        manifest::{Dimension, free_lengths},
        payload::Payload,
        workload::SampleResponse,
    },
    worker::{
        declaration::DeclaredTensors,
        memory::SharedMemory,
        message::{ToWorker, encode},
        process::Worker,
    },
};

pub(super) struct PythonTensors {
    worker: Worker,
    memory: SharedMemory,
    model: Arc<DeclaredTensors>,
    max_batch: usize,
    slot_bytes: u64,
    /// Place of the outputs in a slot.
    output_at: u64,
    outcomes: Arc<Outcomes>,
    /// Batches that have begun and not finished, oldest first.
    begun: VecDeque<SentBatch>,
    /// Number of the next batch.
    next: u64,
}

struct SentBatch {
    number: u64,
    /// Responses to the samples that the worker did not receive; `None` for the others.
    refused: Vec<Option<EngineError>>,
    /// Number of samples that the worker has received.
    sent: usize,
    /// Reason why the batch could not begin.
    failure: Option<EngineError>,
    prepare: Duration,
}

impl PythonTensors {
    pub(super) fn new(
        worker: Worker,
        memory: SharedMemory,
        model: Arc<DeclaredTensors>,
        max_batch: usize,
        slot_bytes: u64,
    ) -> io::Result<Self> {
        let outcomes = Outcomes::receive_from(&worker)?;
        let output_bytes = model.region_bytes(&model.output, max_batch).unwrap_or(0);
        Ok(Self {
            worker,
            memory,
            model,
            max_batch,
            slot_bytes,
            output_at: slot_bytes - output_bytes,
            outcomes,
            begun: VecDeque::new(),
            next: 0,
        })
    }

    /// Writes a batch into its slot, and sends it.
    fn send(&self, number: u64, batch: &[Payload]) -> Result<(), EngineError> {
        if batch.is_empty() {
            return Ok(());
        }
        let slot = slot_of(number);
        let mut at = slot as u64 * self.slot_bytes;
        let mut body = (batch.len() as u32).to_ne_bytes().to_vec();
        for (number, shape) in self.model.inputs.iter().enumerate() {
            let rows = || batch.iter().map(|payload| &payload.tensors()[number]);
            self.memory.write(rows().map(|row| &row.data[..]), at)?;
            for row in rows() {
                for (place, _) in shape.free() {
                    body.extend((row.shape[place] as u32).to_ne_bytes());
                }
            }
            at += self.model.region_bytes(shape, self.max_batch).unwrap_or(0);
        }
        let message = encode(ToWorker::Batch, slot, number, &body);
        self.worker.send(&message).map_err(EngineError::Lost)
    }

    /// Returns the reason why a sample does not fit into the memory.
    fn refusal(&self, payload: &Payload) -> Option<EngineError> {
        let (inputs, most) = (&self.model.inputs, &self.model.max_lengths);
        let lengths = match free_lengths(inputs, most.len(), payload.tensors()) {
            Ok(lengths) => lengths,
            Err(why) => return Some(EngineError::BadSample(why)),
        };
        let mut free = inputs.iter().flat_map(|shape| shape.free().map(move |(_, n)| (shape, n)));
        let (shape, n) = free.find(|(_, n)| lengths[*n] > most[*n])?;
        let (name, length, most) = (&shape.name, lengths[n], most[n]);
        let why = format!("{name} has a length of {length}; the engine takes {most}");
        Some(EngineError::BadSample(why))
    }

    /// Reads the outputs of a batch of `samples` samples from its slot, each with its number of
    /// tokens; 0 if the engine does not count them. `words` are the lengths of named dimensions, and
    /// then the numbers of tokens.
    fn read(
        &self,
        slot: usize,
        samples: usize,
        words: &[u32],
    ) -> Result<Vec<(Bytes, u32)>, EngineError> {
        let output = &self.model.output;
        let invalid = || EngineError::Failed("its worker sent invalid lengths of outputs".into());
        let named = output.free().count();
        let counted = if self.model.counts_tokens { samples } else { 0 };
        if words.len() != named * samples + counted {
            return Err(invalid());
        }
        let (lengths, counts) = words.split_at(named * samples);
        let mut lengths = lengths.iter();
        let mut row_bytes = || {
            output.dimensions.iter().try_fold(
                element_bytes(output.data_type),
                |bytes, dimension| {
                    let length = match dimension {
                        Dimension::Fixed(length) => *length,
                        Dimension::Free(number) => {
                            let length = lengths.next().map_or(0, |length| *length as usize);
                            Some(length)
                                .filter(|length| *length <= self.model.max_lengths[*number])?
                        }
                    };
                    Some(bytes * length)
                },
            )
        };
        let rows: Option<Vec<_>> = (0..samples).map(|_| row_bytes()).collect();
        let rows = rows.ok_or_else(invalid)?;
        let at = slot as u64 * self.slot_bytes + self.output_at;
        let mut outputs = Bytes::from(self.memory.read(at, rows.iter().sum())?);
        let counts = counts.iter().copied().chain(std::iter::repeat(0));
        Ok(rows.into_iter().map(|bytes| outputs.split_to(bytes)).zip(counts).collect())
    }
}

fn slot_of(number: u64) -> usize {
    (number % SLOTS as u64) as usize
}

impl Engine for PythonTensors {
    fn max_in_flight(&self) -> usize {
        SLOTS
    }

    fn begin(&mut self, batch: Vec<Payload>) {
        let started = Instant::now();
        let refused: Vec<_> = batch.iter().map(|payload| self.refusal(payload)).collect();
        let mut kept = refused.iter().map(Option::is_none);
        let mut batch = batch;
        batch.retain(|_| kept.next() == Some(true));
        let number = self.next;
        self.next += 1;
        let failure = self.send(number, &batch).err();
        let prepare = started.elapsed();
        self.begun.push_back(SentBatch { number, refused, sent: batch.len(), failure, prepare });
    }

    fn when_done(&mut self, done: DoneCallback) -> bool {
        // No outcome arrives for a batch that was not sent.
        let is_sent = |batch: &SentBatch| batch.sent > 0 && batch.failure.is_none();
        let is_sent = self.begun.front().is_some_and(is_sent);
        if is_sent {
            self.outcomes.when_next(done);
        }
        is_sent
    }

    fn finish(&mut self) -> Result<BatchAnswers, EngineError> {
        let none = || EngineError::Failed("no batch has begun".into());
        let no_output = || EngineError::Failed("no output".into());
        let batch = self.begun.pop_front().ok_or_else(none)?;
        if let Some(failure) = batch.failure {
            return Err(failure);
        }
        let mut outputs = match batch.sent {
            0 => Vec::new(),
            sent => match self.outcomes.next().map_err(EngineError::Lost)? {
                Outcome::Done { number, words } if number == batch.number => {
                    self.read(slot_of(number), sent, &words)?
                }
                Outcome::Failed { number, why } if number == batch.number => {
                    return Err(EngineError::Failed(why));
                }
                _ => return Err(EngineError::Lost("its worker answered another batch".into())),
            },
        }
        .into_iter();
        let response = |refused: Option<EngineError>| -> (SampleResponse, u32) {
            match refused.map_or_else(|| outputs.next().ok_or_else(no_output), Err) {
                Ok((output, tokens)) => (Ok(output), tokens),
                Err(why) => (Err(why), 0),
            }
        };
        let (answers, token_counts) = batch.refused.into_iter().map(response).unzip();
        Ok(BatchAnswers { answers, token_counts, prepare: batch.prepare })
    }

    fn loss(&self) -> Option<Loss> {
        Some(self.worker.loss())
    }
}
