//! `recommendation`: a sample is any number of user-item pairs. The response is one probability for
//! each pair (DLRMv2).

use std::sync::Arc;

use bytes::Bytes;
use netdiv_contract::layout::{DataType, InputLayout, Tensor, TensorSpec};
use serde::Deserialize;

use crate::model::{
    manifest::{Manifest, Shape},
    payload::Payload,
    workload::{Job, Lengths, Pass, SampleResponse, Workload, first_answers, integers},
    workloads::parameters,
};

#[derive(Debug)]
pub(super) struct Recommendation {
    layout: InputLayout,
    warm_up_pairs: usize,
    index_limits: Vec<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RecommendationParameters {
    /// Number of pairs per sample to warm up with: the mean of the official data set.
    warm_up_pairs: usize,
    /// Number of table rows for each column of indices; empty: no limit.
    index_limits: Vec<i64>,
}

impl Default for RecommendationParameters {
    fn default() -> Self {
        Self { warm_up_pairs: 270, index_limits: Vec::new() }
    }
}

impl Recommendation {
    pub(super) fn new(manifest: &Arc<Manifest>) -> Result<Self, String> {
        let RecommendationParameters { warm_up_pairs, index_limits } = parameters::read(manifest)?;
        let inputs: &[_; 2] = parameters::exactly("inputs", &manifest.inputs)?;
        parameters::expect(&inputs[0], &[DataType::Float32, DataType::Float16], 1)?;
        parameters::expect(&inputs[1], &[DataType::Int32, DataType::Int64], 1)?;
        let [output] = parameters::exactly("output", &manifest.outputs)?;
        if output.data_type != DataType::Float32
            || output.fixed().is_none_or(|lengths| lengths.iter().any(|length| *length != 1))
        {
            return Err(format!("{} must be one float32 for each pair", output.name));
        }
        let spec = |input: &Shape| {
            let columns = parameters::fixed(input)?[0] as i64;
            Ok(TensorSpec { shape: vec![-1, columns], ..input.spec() })
        };
        let tensors = inputs.iter().map(spec).collect::<Result<_, String>>()?;
        let columns = parameters::fixed(&inputs[1])?[0];
        if !index_limits.is_empty() && index_limits.len() != columns {
            return Err(format!(
                "index_limits has the length {}; expected {columns}",
                index_limits.len()
            ));
        }
        Ok(Self { layout: InputLayout { tensors }, warm_up_pairs, index_limits })
    }

    fn pairs(&self, payload: &Payload) -> Result<usize, String> {
        let tensors = payload.tensors();
        match (tensors[0].shape[0], tensors[1].shape[0]) {
            (0, _) => Err("the sample has no pairs".into()),
            (dense, sparse) if dense != sparse => {
                Err(format!("the first tensor has the length {dense}, but the second {sparse}"))
            }
            (pairs, _) => {
                self.check_indices(&tensors[1])?;
                Ok(pairs)
            }
        }
    }

    /// Fails for an index beyond its table, which would be read from elsewhere in memory.
    fn check_indices(&self, indices: &Tensor<Bytes>) -> Result<(), String> {
        if self.index_limits.is_empty() {
            return Ok(());
        }
        let beyond = integers(indices)
            .zip(self.index_limits.iter().cycle())
            .find(|(n, limit)| !(0..**limit).contains(n));
        match beyond {
            Some((index, limit)) => Err(format!("index {index} in a table of length {limit}")),
            None => Ok(()),
        }
    }
}

impl Workload for Recommendation {
    fn layout(&self) -> InputLayout {
        self.layout.clone()
    }

    fn length(&self, payload: &Payload) -> usize {
        payload.tensors()[0].shape[0].max(1)
    }

    fn lengths(&self) -> Option<Lengths> {
        Some(Lengths::Joined)
    }

    /// Returns no steps: a row is a pair, and batch sizes are in samples.
    fn row_steps(&self, _: &[usize]) -> Vec<usize> {
        Vec::new()
    }

    fn job(self: Arc<Self>, batch: Arc<[Payload]>) -> Box<dyn Job> {
        let pairs: Vec<_> = batch.iter().map(|payload| self.pairs(payload)).collect();
        let answers = first_answers(&pairs);
        let pairs = pairs.into_iter().map(Result::unwrap_or_default).collect();
        Box::new(JoinedJob { batch, pairs, asked: false, answers })
    }

    fn warm_up(&self, samples: &[usize], _: &[usize]) -> Vec<Pass> {
        let pass = |samples: &usize| Pass::of_rows(samples.saturating_mul(self.warm_up_pairs));
        samples.iter().map(pass).collect()
    }
}

/// Batch that has a row for each pair of its samples.
struct JoinedJob {
    batch: Arc<[Payload]>,
    /// Number of pairs of each sample; 0 for an invalid sample.
    pairs: Vec<usize>,
    asked: bool,
    answers: Vec<SampleResponse>,
}

impl Job for JoinedJob {
    fn next_pass(&mut self) -> Option<Pass> {
        let asked = std::mem::replace(&mut self.asked, true);
        let rows = self.pairs.iter().sum();
        (!asked && rows > 0).then_some(Pass::of_rows(rows))
    }

    fn write_inputs(&mut self, inputs: &mut [&mut [u8]]) {
        let mut at = [0; 2];
        for (payload, pairs) in self.batch.iter().zip(&self.pairs) {
            if *pairs == 0 {
                continue;
            }
            for ((input, tensor), at) in inputs.iter_mut().zip(payload.tensors()).zip(&mut at) {
                input[*at..][..tensor.data.len()].copy_from_slice(&tensor.data);
                *at += tensor.data.len();
            }
        }
    }

    fn read_outputs(&mut self, outputs: &[&[u8]]) {
        let mut rest = outputs[0];
        for (answer, pairs) in self.answers.iter_mut().zip(&self.pairs) {
            let (own, others) = rest.split_at(pairs * size_of::<f32>());
            rest = others;
            if *pairs > 0 {
                *answer = Ok(Bytes::copy_from_slice(own));
            }
        }
    }

    fn answers(self: Box<Self>) -> Vec<SampleResponse> {
        self.answers
    }
}
