//! A decoded sample with its tensors.

use bytes::Bytes;
use netdiv_contract::layout::{self, InputLayout, LayoutError, Tensor};

/// Bytes of a decoded sample, and its tensors, which share these bytes. The intake finds the
/// tensors once, when the sample arrives.
#[derive(Debug, Clone, Default)]
pub struct Payload {
    bytes: Bytes,
    tensors: Vec<Tensor<Bytes>>,
}

impl Payload {
    /// Reads a sample's tensors and compares them with the layout. A layout without tensors accepts
    /// any bytes.
    pub(crate) fn read(layout: &InputLayout, bytes: Bytes) -> Result<Self, LayoutError> {
        if layout.tensors.is_empty() {
            return Ok(Self { bytes, tensors: Vec::new() });
        }
        let own = |tensor: layout::TensorView<'_>| {
            let layout::TensorView { data_type, shape, data } = tensor;
            Tensor { data_type, shape, data: bytes.slice_ref(data) }
        };
        let tensors = layout::read(layout, &bytes)?.into_iter().map(own).collect();
        Ok(Self { bytes, tensors })
    }

    /// Returns all bytes of the sample.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the tensors that the layout names, in its order.
    pub fn tensors(&self) -> &[Tensor<Bytes>] {
        &self.tensors
    }
}
