//! A data set and its samples.

use bytes::Bytes;
use netdiv_contract::layout::{self, DataType, InputLayout, TensorView};

use crate::{error::DatasetError, manifest::Prepared};

/// A sample.
#[derive(Debug, Clone)]
pub enum Sample {
    /// Arbitrary bytes.
    Bytes(Bytes),
    /// Tensors, in the data set's order.
    Tensors(Vec<Tensor>),
}

/// One tensor of a sample.
#[derive(Debug, Clone)]
pub struct Tensor {
    /// Element type.
    pub data_type: DataType,
    /// Lengths of its dimensions.
    pub shape: Vec<usize>,
    /// Elements, little-endian.
    pub data: Bytes,
}

/// Samples by index.
pub trait Dataset: Send + Sync {
    /// Name for the logs.
    fn name(&self) -> String;

    /// Number of samples, at least one.
    fn sample_count(&self) -> usize;

    /// The tensors of a sample; `None` for arbitrary bytes.
    fn layout(&self) -> Option<InputLayout>;

    /// Bytes of one sample, without reading it.
    fn sample_bytes(&self, index: usize) -> u64;

    /// Brings one sample into memory.
    fn read(&self, index: usize) -> Result<Sample, DatasetError>;

    /// What the manifests say that lie beside its parts; samples are compared with them as they are read.
    fn prepared(&self) -> Vec<Prepared> {
        Vec::new()
    }
}

impl Tensor {
    fn view(&self) -> TensorView<'_> {
        TensorView { data_type: self.data_type, shape: self.shape.clone(), data: &self.data }
    }
}

impl Sample {
    /// The payload for a receiver of that layout (`netdiv_contract::layout`): one tensor of fixed shape as it is, several or
    /// variable ones packed.
    pub fn into_payload(self, takes: &InputLayout) -> Bytes {
        let packed = !takes.tensors.is_empty() && layout::raw_tensor(takes).is_none();
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
