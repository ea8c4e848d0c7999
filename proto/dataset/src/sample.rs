//! Data sets and samples.

use bytes::Bytes;
use netdiv_contract::layout::{self, DataType, InputLayout, TensorView};
use netdiv_node_common::words::DatasetPart;

use crate::{error::DatasetError, manifest::Provenance};

/// Sample of a data set.
#[derive(Debug, Clone)]
pub enum Sample {
    /// Arbitrary bytes.
    Bytes(Bytes),
    /// Tensors, in the data set's order.
    Tensors(Vec<Tensor>),
}

/// Tensor of a sample.
#[derive(Debug, Clone)]
pub struct Tensor {
    /// Element type.
    pub data_type: DataType,
    /// Length of each dimension.
    pub shape: Vec<usize>,
    /// Elements, little-endian.
    pub data: Bytes,
}

/// Data set: samples by index.
pub trait Dataset: Send + Sync {
    /// Name for the logs.
    fn name(&self) -> String;

    /// Number of samples, at least one.
    fn sample_count(&self) -> usize;

    /// Tensors of a sample, or `None` for arbitrary bytes.
    fn layout(&self) -> Option<InputLayout>;

    /// Returns the length of a sample, in bytes, without reading it.
    fn sample_bytes(&self, index: usize) -> u64;

    /// Reads a sample into memory.
    fn read(&self, index: usize) -> Result<Sample, DatasetError>;

    /// Returns the provenance of each part of the data set that has a manifest beside it. Each
    /// sample is compared with the manifest as it is read.
    fn prepared(&self) -> Vec<Provenance> {
        Vec::new()
    }

    /// Returns the part that was opened, of a data set that has parts.
    fn part(&self) -> Option<DatasetPart> {
        None
    }
}

impl Tensor {
    fn view(&self) -> TensorView<'_> {
        TensorView { data_type: self.data_type, shape: self.shape.clone(), data: &self.data }
    }
}

impl Sample {
    /// Returns the payload for a receiver of layout `takes` (`netdiv_contract::layout`): the bytes
    /// of a single tensor of fixed shape; several tensors, or tensors of variable shape, packed.
    pub fn into_payload(self, takes: &InputLayout) -> Bytes {
        let packed = layout::is_packed(takes);
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Tensors(mut tensors) if tensors.len() == 1 && !packed => tensors.remove(0).data,
            Self::Tensors(tensors) => {
                let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
                layout::pack(&views)
            }
        }
    }
}
