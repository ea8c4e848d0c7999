//! Workloads. A workload defines the layout of a benchmark's samples, converts samples to inputs of
//! the model (pre-processing), and converts the model's outputs to responses (post-processing).
//! Both conversions run at the node, in the timed region.
//!
//! A batch becomes a [`Job`], which runs the model in one or more passes. `docs/ENGINES.md`
//! describes each workload. Layouts of responses are those of the official accuracy logs.

use std::{fmt::Debug, sync::Arc};

use bytes::Bytes;
use netdiv_contract::layout::{DataType, InputLayout, Tensor, element_bytes};

use crate::{ground::error::EngineError, model::payload::Payload};

/// Layout of a benchmark's samples, and their processing before and after the model.
pub(crate) trait Workload: Debug + Send + Sync {
    /// Returns the layout of a sample on the wire.
    fn layout(&self) -> InputLayout;

    /// Returns a sample's length in the unit of the workload, such as tokens or pairs. The batcher
    /// adds these lengths up. The default is 1 for every sample.
    fn length(&self, _payload: &Payload) -> usize {
        1
    }

    /// Returns the memory in bytes that a sample of `decoded` bytes needs in addition to its own
    /// bytes, for the model's passes and the response. Implementations need not count a few
    /// numbers.
    fn working_bytes(&self, _decoded: u64) -> u64 {
        0
    }

    /// True if a response may be empty, such as the response to an image without objects.
    fn may_be_empty(&self) -> bool {
        false
    }

    /// Returns the method that puts samples of different lengths into a batch; `None` if
    /// [`Self::length`] is 1 for every sample.
    fn lengths(&self) -> Option<Lengths> {
        None
    }

    /// Returns the numbers of rows to which passes are filled up; empty: passes are not filled up.
    /// `batch_sizes` are the batch sizes in the settings, in samples.
    fn row_steps(&self, batch_sizes: &[usize]) -> Vec<usize> {
        batch_sizes.to_vec()
    }

    /// Returns the lengths to which samples are padded; empty: samples are padded only to the
    /// longest sample of their batch. `buckets` are the lengths in the settings.
    fn length_steps(&self, buckets: &[usize]) -> Vec<usize> {
        buckets.to_vec()
    }

    /// Starts a batch of payloads that fit the layout.
    fn job(self: Arc<Self>, batch: Arc<[Payload]>) -> Box<dyn Job>;

    /// Returns the passes that an engine runs to warm up the model: the passes of a run, as far as
    /// they are known. `samples` are batch sizes, and `length_steps` the lengths that
    /// [`Self::length_steps`] returned. The default is for samples that are rows of a fixed shape.
    fn warm_up(&self, samples: &[usize], _length_steps: &[usize]) -> Vec<Pass> {
        samples.iter().copied().map(Pass::of_rows).collect()
    }
}

/// A batch in progress. Passes begin and end in order.
pub(crate) trait Job: Send {
    /// Returns the next pass; `None` after the last one.
    fn next_pass(&mut self) -> Option<Pass>;

    /// Writes the inputs of the last pass that [`Self::next_pass`] returned. Each input has as many
    /// rows as the pass; the caller adds the rows that fill it up.
    fn write_inputs(&mut self, inputs: &mut [&mut [u8]]);

    /// Reads the outputs of the oldest pass whose outputs this job has not read yet.
    fn read_outputs(&mut self, outputs: &[&[u8]]);

    /// Returns the responses to all samples, in order, after the last pass.
    fn answers(self: Box<Self>) -> Vec<SampleResponse>;
}

/// Method that puts samples of different lengths into a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// Shorter samples are padded to the longest sample or to their bucket.
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
    /// Lengths of the free dimensions, by their number in the manifest.
    pub(crate) lengths: Vec<usize>,
}

impl Pass {
    /// Returns a pass of a model without free dimensions.
    pub(crate) fn of_rows(rows: usize) -> Self {
        Self { rows, lengths: Vec::new() }
    }
}

/// Bytes of a tensor, aligned for any element type.
pub(crate) struct AlignedBytes {
    words: Vec<u64>,
    bytes: usize,
}

impl AlignedBytes {
    /// Creates a tensor of `bytes` bytes, all zero.
    pub(crate) fn zeros(bytes: usize) -> Self {
        Self { words: vec![0; bytes.div_ceil(size_of::<u64>())], bytes }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}

impl From<&[u8]> for AlignedBytes {
    fn from(bytes: &[u8]) -> Self {
        let mut aligned = Self::zeros(bytes.len());
        aligned.bytes_mut().copy_from_slice(bytes);
        aligned
    }
}

impl AsRef<[u8]> for AlignedBytes {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// Divides the bytes of a tensor into its rows, of which there are `rows`.
pub(crate) fn rows_of(bytes: &[u8], rows: usize) -> std::slice::ChunksExact<'_, u8> {
    bytes.chunks_exact((bytes.len() / rows.max(1)).max(1))
}

/// Returns the whole numbers of a tensor of int32 or int64, from its little-endian bytes.
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

/// Returns the error that is the response to a sample until the model has returned its output.
pub(crate) fn no_answer() -> SampleResponse {
    Err(EngineError::Failed("the model returned no response".into()))
}

/// Returns the responses to samples until the model has returned its outputs: those to invalid
/// samples are final.
pub(crate) fn first_answers<T>(samples: &[Result<T, String>]) -> Vec<SampleResponse> {
    let answer = |sample: &Result<T, String>| match sample {
        Ok(_) => no_answer(),
        Err(why) => Err(bad_sample(why)),
    };
    samples.iter().map(answer).collect()
}

pub(crate) fn bad_sample(why: impl Into<String>) -> EngineError {
    EngineError::BadSample(why.into())
}
