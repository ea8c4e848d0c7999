//! `question-answering`: a sample is token ids, alone or with mask and segments. The response is
//! the start and end logit of each token, in the layout of the official accuracy log (BERT on
//! SQuAD).

use std::sync::Arc;

use bytes::Bytes;
use netdiv_contract::layout::{DataType, InputLayout, Tensor, TensorSpec};
use serde::Deserialize;

use crate::model::{
    manifest::{Dimension, Manifest, Shape},
    payload::Payload,
    workload::{Job, Lengths, Pass, Workload, integers},
    workloads::{
        parameters,
        rows::{NumberRows, OutputRow},
    },
};

#[derive(Debug)]
pub(super) struct QuestionAnswering {
    layout: InputLayout,
    data_type: DataType,
    settings: QuestionAnsweringParameters,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct QuestionAnsweringParameters {
    samples: QuestionFormat,
    /// Token between question and text; SQuAD's [SEP].
    separator: i64,
    /// Maximum length of a sample, in tokens.
    max_tokens: usize,
    /// Number of token ids, which start at 0. A higher id would be read from memory beyond the
    /// model's table.
    vocabulary: i64,
}

impl Default for QuestionAnsweringParameters {
    fn default() -> Self {
        Self {
            samples: QuestionFormat::Tensors,
            separator: 102,
            max_tokens: 384,
            vocabulary: 30_522,
        }
    }
}

/// Tensors of a sample on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum QuestionFormat {
    /// Ids, mask and segments.
    Tensors,
    /// Ids; the node derives mask and segments.
    Ids,
}

/// Number of inputs: ids, mask, segments.
const INPUTS: usize = 3;

impl QuestionAnswering {
    pub(super) fn new(manifest: &Arc<Manifest>) -> Result<Self, String> {
        let settings: QuestionAnsweringParameters = parameters::read(manifest)?;
        if settings.vocabulary < 1 {
            return Err("[parameters]: vocabulary must be at least 1".into());
        }
        let inputs: &[_; INPUTS] = parameters::exactly("inputs", &manifest.inputs)?;
        let outputs: &[_; 2] = parameters::exactly("outputs", &manifest.outputs)?;
        for input in inputs {
            parameters::expect(input, &[DataType::Int32, DataType::Int64], 1)?;
        }
        for output in outputs {
            parameters::expect(output, &[DataType::Float32], 1)?;
        }
        let data_type = inputs[0].data_type;
        let free = |shape: &Shape| shape.dimensions == [Dimension::Free(0)];
        if !inputs.iter().all(|shape| free(shape) && shape.data_type == data_type)
            || !outputs.iter().all(free)
        {
            return Err("inputs must be of one type, and all tensors of one free length".into());
        }
        let spec = |name: &str| TensorSpec {
            name: name.into(),
            data_type: data_type as i32,
            shape: vec![-1],
        };
        let tensors = match settings.samples {
            QuestionFormat::Tensors => inputs.iter().map(|input| spec(&input.name)).collect(),
            QuestionFormat::Ids => vec![spec(&inputs[0].name)],
        };
        Ok(Self { layout: InputLayout { tensors }, data_type, settings })
    }

    /// Returns the sample's ids, mask and segments, up to the last token that is not padding.
    fn tokens(&self, payload: &Payload) -> Result<[Vec<i64>; INPUTS], String> {
        let tensors = payload.tensors();
        let length = tensors[0].shape[0];
        if tensors.iter().any(|tensor| tensor.shape[0] != length) {
            return Err("ids, mask and segments differ in length".into());
        }
        let real = real_tokens(tensors);
        let most = self.settings.max_tokens;
        if real == 0 || real > most {
            return Err(format!("{real} tokens without padding; 1 to {most} are allowed"));
        }
        let numbers = |place: usize| integers(&tensors[place]).take(real).collect::<Vec<_>>();
        let ids = numbers(0);
        let (mask, segments) = match self.settings.samples {
            QuestionFormat::Tensors => (numbers(1), numbers(2)),
            QuestionFormat::Ids => {
                let mask: Vec<_> = ids.iter().map(|id| i64::from(*id != 0)).collect();
                let mut after = 0;
                let segments = ids.iter().zip(&mask).map(|(id, real)| {
                    let segment = after * real;
                    after |= i64::from(*id == self.settings.separator);
                    segment
                });
                let segments = segments.collect();
                (mask, segments)
            }
        };
        let within = |numbers: &[i64], most: i64| numbers.iter().all(|n| (0..most).contains(n));
        if !within(&ids, self.settings.vocabulary) || !within(&segments, 2) {
            let most = self.settings.vocabulary;
            return Err(format!("an id is not from 0 to {}, or a segment is not 0 or 1", most - 1));
        }
        Ok([ids, mask, segments])
    }
}

/// Returns the number of tokens up to the last one that is not padding.
fn real_tokens(tensors: &[Tensor<Bytes>]) -> usize {
    // The mask, or the ids if the mask is missing.
    let mut marks = integers(tensors.get(1).unwrap_or(&tensors[0]));
    marks.rposition(|mark| mark != 0).map_or(0, |last| last + 1)
}

impl Workload for QuestionAnswering {
    fn layout(&self) -> InputLayout {
        self.layout.clone()
    }

    fn length(&self, payload: &Payload) -> usize {
        real_tokens(payload.tensors()).clamp(1, self.settings.max_tokens)
    }

    fn lengths(&self) -> Option<Lengths> {
        Some(Lengths::Padded)
    }

    /// Adds the maximum length of a sample as the last bucket, if there are buckets.
    fn length_steps(&self, buckets: &[usize]) -> Vec<usize> {
        let mut steps = buckets.to_vec();
        if steps.last().is_some_and(|longest| *longest < self.settings.max_tokens) {
            steps.push(self.settings.max_tokens);
        }
        steps
    }

    fn job(self: Arc<Self>, batch: Arc<[Payload]>) -> Box<dyn Job> {
        let tokens: Vec<_> = batch.iter().map(|payload| self.tokens(payload)).collect();
        let longest = tokens.iter().flatten().map(|[ids, ..]| ids.len()).max().unwrap_or(0);
        NumberRows::job(tokens, self.data_type, vec![longest], interleave)
    }

    fn warm_up(&self, samples: &[usize], length_steps: &[usize]) -> Vec<Pass> {
        let longest = [self.settings.max_tokens];
        let lengths = if length_steps.is_empty() { &longest } else { length_steps };
        let pass = |rows: &usize| {
            let rows = *rows;
            lengths.iter().map(move |length| Pass { rows, lengths: vec![*length] })
        };
        samples.iter().flat_map(pass).collect()
    }
}

/// Returns the start and the end logit of each of the first `tokens` tokens in turn, as float32
/// bytes.
fn interleave(row: OutputRow<'_>, tokens: usize) -> Bytes {
    let pairs = row.of(0).as_chunks::<4>().0.iter().zip(row.of(1).as_chunks::<4>().0).take(tokens);
    pairs.flat_map(|(start, end)| start.iter().chain(end)).copied().collect()
}
