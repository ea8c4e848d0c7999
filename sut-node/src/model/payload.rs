//! A decoded sample whose layout was read.

use bytes::Bytes;
use netdiv_contract::layout::{self, InputLayout, LayoutError, Tensor};

/// The bytes of a sample, and where in them its tensors lie. The layout is read once, at the intake.
#[derive(Debug, Clone, Default)]
pub struct Payload {
    bytes: Bytes,
    tensors: Vec<Tensor<Bytes>>,
}

impl Payload {
    /// Reads a sample's tensors and compares them with the layout. A layout without tensors takes any bytes.
    pub(crate) fn read(layout: &InputLayout, bytes: Bytes) -> Result<Self, LayoutError> {
        let own = |tensor: layout::TensorView<'_>| {
            let layout::TensorView { data_type, shape, data } = tensor;
            Tensor { data_type, shape, data: bytes.slice_ref(data) }
        };
        let tensors = layout::read(layout, &bytes)?.into_iter().map(own).collect();
        Ok(Self { bytes, tensors })
    }

    /// All of it.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The tensors that the layout names, in its order.
    pub fn tensors(&self) -> &[Tensor<Bytes>] {
        &self.tensors
    }
}
