//! `recommendation`: user-item pairs, any number in a sample; the answer is one probability for each pair (DLRMv2).

use std::sync::Arc;

use bytes::Bytes;
use netdiv_proto::layout::{self, DataType, InputLayout, TensorSpec};
use serde::Deserialize;

use super::{Answer, Job, Pass, Workload, bad_sample, parameters};
use crate::manifest::Manifest;

#[derive(Debug)]
pub(super) struct Recommendation {
    layout: InputLayout,
    warm_up_pairs: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Parameters {
    /// Pairs of a sample that batches are warmed up with; the mean of the official data set.
    warm_up_pairs: usize,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { warm_up_pairs: 270 }
    }
}

impl Recommendation {
    pub(super) fn new(manifest: &Arc<Manifest>) -> Result<Self, String> {
        let Parameters { warm_up_pairs } = parameters::read(manifest)?;
        let inputs: &[_; 2] = parameters::exactly("inputs", &manifest.inputs)?;
        parameters::expect(&inputs[0], &[DataType::Float32, DataType::Float16], 1)?;
        parameters::expect(&inputs[1], &[DataType::Int32, DataType::Int64], 1)?;
        let [output] = parameters::exactly("output", &manifest.outputs)?;
        if output.data_type != DataType::Float32
            || output.fixed().is_none_or(|n| n.iter().product::<usize>() != 1)
        {
            return Err(format!("{} must be one float32 for each pair", output.name));
        }
        let spec = |input: &crate::manifest::Shape| {
            let columns = parameters::fixed(input)?[0] as i64;
            Ok(TensorSpec { shape: vec![-1, columns], ..input.spec() })
        };
        let tensors = inputs.iter().map(spec).collect::<Result<_, String>>()?;
        Ok(Self { layout: InputLayout { tensors }, warm_up_pairs })
    }

    fn pairs(&self, payload: &[u8]) -> Result<usize, String> {
        let tensors = layout::read(&self.layout, payload).map_err(|error| error.to_string())?;
        match (tensors[0].shape[0], tensors[1].shape[0]) {
            (0, _) => Err("a sample without pairs".into()),
            (dense, sparse) if dense != sparse => {
                Err(format!("{dense} pairs in the first tensor, {sparse} in the second"))
            }
            (pairs, _) => Ok(pairs),
        }
    }
}

impl Workload for Recommendation {
    fn layout(&self) -> InputLayout {
        self.layout.clone()
    }

    fn length(&self, payload: &[u8]) -> usize {
        self.pairs(payload).unwrap_or(1)
    }

    fn job(self: Arc<Self>, batch: Vec<Bytes>) -> Box<dyn Job> {
        let pairs = batch.iter().map(|payload| self.pairs(payload)).collect();
        Box::new(Joined { workload: self, batch, pairs, asked: false, answers: Vec::new() })
    }

    fn warm_up(&self, rows: &[usize], _: &[usize]) -> Vec<Pass> {
        let pass = |rows: &usize| Pass { rows: rows * self.warm_up_pairs, lengths: Vec::new() };
        rows.iter().map(pass).collect()
    }
}

/// All pairs of a batch, one row each.
struct Joined {
    workload: Arc<Recommendation>,
    batch: Vec<Bytes>,
    pairs: Vec<Result<usize, String>>,
    asked: bool,
    answers: Vec<Answer>,
}

impl Job for Joined {
    fn next_pass(&mut self) -> Option<Pass> {
        let asked = std::mem::replace(&mut self.asked, true);
        let rows = self.pairs.iter().flatten().sum();
        (!asked && rows > 0).then_some(Pass { rows, lengths: Vec::new() })
    }

    fn fill(&mut self, inputs: &mut [&mut [u8]]) {
        let mut at = [0; 2];
        for (payload, pairs) in self.batch.iter().zip(&self.pairs) {
            let Ok(tensors) = layout::read(&self.workload.layout, payload) else { continue };
            if pairs.is_err() {
                continue;
            }
            for ((input, tensor), at) in inputs.iter_mut().zip(&tensors).zip(&mut at) {
                input[*at..][..tensor.data.len()].copy_from_slice(tensor.data);
                *at += tensor.data.len();
            }
        }
    }

    fn take(&mut self, outputs: &[&[u8]]) {
        let mut rest = outputs[0];
        for pairs in &self.pairs {
            self.answers.push(match pairs {
                Ok(pairs) => {
                    let (own, others) = rest.split_at(pairs * size_of::<f32>());
                    rest = others;
                    Ok(Bytes::copy_from_slice(own))
                }
                Err(why) => Err(bad_sample(why.clone())),
            });
        }
    }

    fn answers(self: Box<Self>) -> Vec<Answer> {
        if self.pairs.iter().any(Result::is_ok) {
            return self.answers;
        }
        let why = |pairs: Result<_, String>| pairs.err().unwrap_or_default();
        self.pairs.into_iter().map(|pairs| Err(bad_sample(why(pairs)))).collect()
    }
}
