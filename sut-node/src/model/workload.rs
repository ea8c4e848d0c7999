//! Workloads: the layout of a benchmark's samples, its pre- and post-processing. All of it runs at
//! the node, in the timed region.
//!
//! A batch becomes a [`Job`], which runs the model in one or more passes. `docs/ENGINES.md`
//! describes each workload. Layouts of responses are those of the official accuracy logs.

use std::{fmt::Debug, sync::Arc};

use bytes::Bytes;
use netdiv_contract::layout::{DataType, InputLayout, Tensor, element_bytes};

use crate::{ground::error::EngineError, model::payload::Payload};

/// Pre- and post-processing of one benchmark.
pub(crate) trait Workload: Debug + Send + Sync {
    /// Returns the layout of a sample on the wire.
    fn layout(&self) -> InputLayout;

    /// Returns a sample's length in tokens, pairs, and so on; 1 if all samples are alike.
    fn length(&self, _payload: &Payload) -> usize {
        1
    }

    /// Returns the memory in bytes that a sample of `decoded` bytes needs besides its own, for the
    /// model's passes and the response. A few numbers do not count.
    fn working_bytes(&self, _decoded: u64) -> u64 {
        0
    }

    /// True if a response may be empty, such as the response to an image without objects.
    fn may_be_empty(&self) -> bool {
        false
    }

    /// Returns the treatment of samples with different lengths; `None`: all are alike.
    fn lengths(&self) -> Option<Lengths> {
        None
    }

    /// Returns the numbers of rows that passes are filled up to. `batch_sizes` are the operator's
    /// sizes of batches.
    fn row_steps(&self, batch_sizes: &[usize]) -> Vec<usize> {
        batch_sizes.to_vec()
    }

    /// Returns the lengths that samples are padded to. `buckets` are the operator's.
    fn length_steps(&self, buckets: &[usize]) -> Vec<usize> {
        buckets.to_vec()
    }

    /// Starts a batch of payloads that fit the layout.
    fn job(self: Arc<Self>, batch: Arc<[Payload]>) -> Box<dyn Job>;

    /// Returns the passes to warm up with, for batches of `samples` samples. These are the passes
    /// of a run, as far as they are known.
    fn warm_up(&self, samples: &[usize], length_steps: &[usize]) -> Vec<Pass>;
}

/// A batch in progress. Passes begin and end in order.
pub(crate) trait Job: Send {
    /// Returns the next pass; `None` after the last one.
    fn next_pass(&mut self) -> Option<Pass>;

    /// Writes the inputs of the last pass that [`Self::next_pass`] returned. Each has the pass's
    /// rows; the caller pads them.
    fn write_inputs(&mut self, inputs: &mut [&mut [u8]]);

    /// Reads the outputs of the first pass that this job has not yet read.
    fn read_outputs(&mut self, outputs: &[&[u8]]);

    /// Returns the responses to all samples, in order, after the last pass.
    fn answers(self: Box<Self>) -> Vec<SampleResponse>;
}

/// Treatment of samples with different lengths in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// Shorter samples are padded.
    Padded,
    /// Samples are concatenated.
    Joined,
}

/// Response to a sample, or the reason why it is missing.
pub(crate) type SampleResponse = Result<Bytes, EngineError>;

/// A single run of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pass {
    /// Length of the batch dimension.
    pub(crate) rows: usize,
    /// Lengths of the free dimensions.
    pub(crate) lengths: Vec<usize>,
}

/// Returns the rows of a tensor that has `rows` rows.
pub(crate) fn rows_of(bytes: &[u8], rows: usize) -> std::slice::ChunksExact<'_, u8> {
    bytes.chunks_exact((bytes.len() / rows.max(1)).max(1))
}

/// Returns the whole numbers of a tensor, from its little-endian bytes.
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

/// Returns the placeholder of a response.
pub(crate) fn no_answer() -> SampleResponse {
    Err(EngineError::Failed("the model returned no response".into()))
}

/// Returns the error for an invalid sample.
pub(crate) fn bad_sample(why: impl Into<String>) -> EngineError {
    EngineError::BadSample(why.into())
}
