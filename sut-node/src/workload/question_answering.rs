//! `question-answering`: token ids, alone or with mask and segments; the answer is the start and end logit of each token, in
//! the layout of the official accuracy log (BERT on SQuAD).

use std::sync::Arc;

use bytes::Bytes;
use netdiv_proto::layout::{self, DataType, InputLayout, TensorSpec, element_bytes};
use serde::Deserialize;

use super::{Answer, Job, Pass, Workload, bad_sample, parameters, rows_of};
use crate::manifest::{Dimension, Manifest};

#[derive(Debug)]
pub(super) struct QuestionAnswering {
    layout: InputLayout,
    data_type: DataType,
    settings: Parameters,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Parameters {
    samples: Samples,
    /// The token between question and text; SQuAD's [SEP].
    separator: i64,
    /// Longest sample, in tokens.
    max_tokens: usize,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { samples: Samples::Tensors, separator: 102, max_tokens: 384 }
    }
}

/// What travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Samples {
    /// Ids, mask and segments.
    Tensors,
    /// Ids; the node makes the others.
    Ids,
}

/// Numbers of the inputs: ids, mask, segments.
const INPUTS: usize = 3;

impl QuestionAnswering {
    pub(super) fn new(manifest: &Arc<Manifest>) -> Result<Self, String> {
        let settings: Parameters = parameters::read(manifest)?;
        let inputs: &[_; INPUTS] = parameters::exactly("inputs", &manifest.inputs)?;
        let outputs: &[_; 2] = parameters::exactly("outputs", &manifest.outputs)?;
        for input in inputs {
            parameters::expect(input, &[DataType::Int32, DataType::Int64], 1)?;
        }
        for output in outputs {
            parameters::expect(output, &[DataType::Float32], 1)?;
        }
        let data_type = inputs[0].data_type;
        let free = |shape: &crate::manifest::Shape| shape.dimensions == [Dimension::Free(0)];
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
            Samples::Tensors => inputs.iter().map(|input| spec(&input.name)).collect(),
            Samples::Ids => vec![spec(&inputs[0].name)],
        };
        Ok(Self { layout: InputLayout { tensors }, data_type, settings })
    }

    /// Bytes of one number of a sample.
    fn width(&self) -> usize {
        element_bytes(self.data_type)
    }

    /// The sample's ids, mask and segments, up to the last token that is no padding.
    fn tokens(&self, payload: &[u8]) -> Result<[Vec<i64>; INPUTS], String> {
        let tensors = layout::read(&self.layout, payload).map_err(|error| error.to_string())?;
        let numbers = |place: usize| -> Vec<i64> {
            let data = tensors[place].data;
            match self.data_type {
                DataType::Int32 => {
                    data.as_chunks().0.iter().map(|n| i64::from(i32::from_le_bytes(*n))).collect()
                }
                _ => data.as_chunks().0.iter().map(|n| i64::from_le_bytes(*n)).collect(),
            }
        };
        let mut ids = numbers(0);
        let (mut mask, mut segments) = match self.settings.samples {
            Samples::Tensors => (numbers(1), numbers(2)),
            Samples::Ids => {
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
        if mask.len() != ids.len() || segments.len() != ids.len() {
            return Err("ids, mask and segments differ in length".into());
        }
        let real = mask.iter().rposition(|real| *real != 0).map_or(0, |last| last + 1);
        if real == 0 || real > self.settings.max_tokens {
            let most = self.settings.max_tokens;
            return Err(format!("{real} tokens that are no padding; 1 to {most} are possible"));
        }
        for numbers in [&mut ids, &mut mask, &mut segments] {
            numbers.truncate(real);
        }
        Ok([ids, mask, segments])
    }
}

impl Workload for QuestionAnswering {
    fn layout(&self) -> InputLayout {
        self.layout.clone()
    }

    fn length(&self, payload: &[u8]) -> usize {
        self.tokens(payload).map_or(1, |[ids, ..]| ids.len())
    }

    fn pads(&self) -> bool {
        true
    }

    fn job(self: Arc<Self>, batch: Vec<Bytes>) -> Box<dyn Job> {
        let tokens: Vec<_> = batch.iter().map(|payload| self.tokens(payload)).collect();
        let longest = tokens.iter().flatten().map(|[ids, ..]| ids.len()).max().unwrap_or(0);
        Box::new(Padded { width: self.width(), tokens, longest, asked: false, answers: Vec::new() })
    }

    fn warm_up(&self, rows: &[usize], lengths: &[usize]) -> Vec<Pass> {
        let longest = [self.settings.max_tokens];
        let lengths = if lengths.is_empty() { &longest } else { lengths };
        let pass = |rows: &usize| {
            let rows = *rows;
            lengths.iter().map(move |length| Pass { rows, lengths: vec![*length] })
        };
        rows.iter().flat_map(pass).collect()
    }
}

/// A batch whose samples are padded with zeros to the longest.
struct Padded {
    width: usize,
    tokens: Vec<Result<[Vec<i64>; INPUTS], String>>,
    longest: usize,
    asked: bool,
    answers: Vec<Answer>,
}

impl Job for Padded {
    fn next_pass(&mut self) -> Option<Pass> {
        let asked = std::mem::replace(&mut self.asked, true);
        let pass = Pass { rows: self.tokens.len(), lengths: vec![self.longest] };
        (!asked && self.longest > 0).then_some(pass)
    }

    fn fill(&mut self, inputs: &mut [&mut [u8]]) {
        let rows = self.tokens.len();
        for (place, input) in inputs.iter_mut().enumerate() {
            // The length may have been rounded up.
            let row_bytes = input.len() / rows.max(1);
            input.fill(0);
            for (row, tokens) in input.chunks_exact_mut(row_bytes.max(1)).zip(&self.tokens) {
                let Ok(tokens) = tokens else { continue };
                for (to, number) in row.chunks_exact_mut(self.width).zip(&tokens[place]) {
                    to.copy_from_slice(&number.to_le_bytes()[..self.width]);
                }
            }
        }
    }

    fn take(&mut self, outputs: &[&[u8]]) {
        let rows = |output: usize| rows_of(outputs[output], self.tokens.len());
        for (tokens, (start, end)) in self.tokens.iter().zip(rows(0).zip(rows(1))) {
            self.answers.push(match tokens {
                Ok([ids, ..]) => Ok(interleave(start, end, ids.len())),
                Err(why) => Err(bad_sample(why.clone())),
            });
        }
    }

    fn answers(self: Box<Self>) -> Vec<Answer> {
        if self.longest > 0 {
            return self.answers;
        }
        let why = |tokens: Result<_, String>| tokens.err().unwrap_or_default();
        self.tokens.into_iter().map(|tokens| Err(bad_sample(why(tokens)))).collect()
    }
}

/// Start and end of each token in turn.
fn interleave(start: &[u8], end: &[u8], tokens: usize) -> Bytes {
    let pairs = start.as_chunks::<4>().0.iter().zip(end.as_chunks::<4>().0).take(tokens);
    pairs.flat_map(|(start, end)| start.iter().chain(end)).copied().collect()
}
