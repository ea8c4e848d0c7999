//! What a benchmark does around the model: the layout of its samples, pre- and post-processing. All of it runs at the node, in
//! the timed region.
//!
//! A batch becomes a [`Job`], which runs the model in one or more passes. `docs/MODELS.md` describes each workload;
//! layouts of answers are those of the official accuracy logs.

use std::{fmt::Debug, sync::Arc};

use bytes::Bytes;
use netdiv_contract::layout::{DataType, InputLayout, Tensor, element_bytes};

use crate::{ground::error::EngineError, model::payload::Payload};

/// Pre- and post-processing of one benchmark.
pub(crate) trait Workload: Debug + Send + Sync {
    /// What a sample looks like on the wire.
    fn layout(&self) -> InputLayout;

    /// A sample's length in tokens, pairs, and so on; 1 where all samples are alike.
    fn length(&self, _payload: &Payload) -> usize {
        1
    }

    /// Returns the memory in bytes that a sample of `decoded` bytes needs beside its own, for the model's passes and the answer.
    /// A few numbers do not count.
    fn working_bytes(&self, _decoded: u64) -> u64 {
        0
    }

    /// Whether a response may have no bytes, such as that to an image without objects.
    fn may_be_empty(&self) -> bool {
        false
    }

    /// Whether samples have lengths, and those of a batch are padded to the longest; `None`: all are alike.
    fn lengths(&self) -> Option<Lengths> {
        None
    }

    /// Rows that a pass is filled up to, by the sizes that the operator chose for batches.
    fn row_steps(&self, batch_sizes: &[usize]) -> Vec<usize> {
        batch_sizes.to_vec()
    }

    /// Lengths that samples are padded to, by the operator's buckets.
    fn length_steps(&self, buckets: &[usize]) -> Vec<usize> {
        buckets.to_vec()
    }

    /// Starts on a batch of payloads that fit the layout.
    fn job(self: Arc<Self>, batch: Arc<[Payload]>) -> Box<dyn Job>;

    /// The passes to warm up with, for batches of so many samples: those that come later, as far as they are known.
    fn warm_up(&self, samples: &[usize], length_steps: &[usize]) -> Vec<Pass>;
}

/// One batch on its way through the model. Passes are begun in order, and end in order.
pub(crate) trait Job: Send {
    /// The next pass, if there is one.
    fn next_pass(&mut self) -> Option<Pass>;

    /// Writes the inputs of the pass that was asked for last. Each is as long as the pass's rows; padding is seen to.
    fn fill(&mut self, inputs: &mut [&mut [u8]]);

    /// Reads the outputs of the first pass that it has not yet seen.
    fn take(&mut self, outputs: &[&[u8]]);

    /// One answer for each sample, in order; after the last pass.
    fn answers(self: Box<Self>) -> Vec<Answer>;
}

/// What a batch does with samples of different lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// Shorter ones are padded.
    Padded,
    /// They are joined.
    Joined,
}

/// A response, or why there is none.
pub(crate) type Answer = Result<Bytes, EngineError>;

/// One run of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pass {
    /// Length of the batch dimension.
    pub(crate) rows: usize,
    /// Lengths of the free dimensions.
    pub(crate) lengths: Vec<usize>,
}

/// The rows of a tensor that has so many.
pub(crate) fn rows_of(bytes: &[u8], rows: usize) -> std::slice::ChunksExact<'_, u8> {
    bytes.chunks_exact((bytes.len() / rows.max(1)).max(1))
}

/// The whole numbers of a tensor, from its little-endian bytes.
pub(crate) fn integers(
    tensor: &Tensor<Bytes>,
) -> impl DoubleEndedIterator<Item = i64> + ExactSizeIterator {
    let data_type = tensor.data_type;
    let number = move |n: &[u8]| match data_type {
        DataType::Int32 => i64::from(i32::from_le_bytes(n.try_into().unwrap_or_default())),
        _ => i64::from_le_bytes(n.try_into().unwrap_or_default()),
    };
    tensor.data.chunks_exact(element_bytes(tensor.data_type).max(1)).map(number)
}

/// Stands where an answer will be.
pub(crate) fn no_answer() -> Answer {
    Err(EngineError::Failed("the model gave no answer".into()))
}

/// What is wrong with a sample.
pub(crate) fn bad_sample(why: impl Into<String>) -> EngineError {
    EngineError::BadSample(why.into())
}
