//! The layouts of a decoded payload.
//!
//! - *Raw*: a sample of one tensor whose shape is fixed is that tensor's elements and nothing else,
//!   little-endian, last dimension fastest (as in a C array).
//! - *Packed*: a sample of several tensors, or of varying shape, starts with a table of them:
//!
//! ```text
//! u32 number of tensors, u32 zero
//! per tensor:  u32 data type (enum DataType), u32 rank, u64 length of each dimension
//! per tensor:  zeros up to a multiple of 8 bytes from the payload's start, then its elements
//! ```
//!
//! An [`InputLayout`] without tensors accepts any bytes.

use bytes::{BufMut as _, Bytes, BytesMut};

pub use crate::v1::{DataType, InputLayout, TensorSpec};

/// Maximum number of tensors in one sample.
const MAX_TENSORS: usize = 64;
/// Maximum number of dimensions of one tensor.
const MAX_RANK: usize = 8;
/// Alignment of the elements of a packed tensor, in bytes.
const ALIGNMENT: usize = 8;

/// Tensor of a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor<Data> {
    /// Element type.
    pub data_type: DataType,
    /// Length of each dimension, without the batch dimension.
    pub shape: Vec<usize>,
    /// Elements, little-endian.
    pub data: Data,
}

/// Tensor borrowed from its payload.
pub type TensorView<'a> = Tensor<&'a [u8]>;

/// Mismatch between a payload and its layout.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LayoutError {
    /// The packed payload's table or data is invalid.
    #[error("damaged packed payload: {0}")]
    Damaged(&'static str),
    /// The tensors of the payload and of the layout differ, or the layout is invalid.
    #[error("{0}")]
    Mismatch(String),
}

/// Returns the length of one element, in bytes.
pub const fn element_bytes(data_type: DataType) -> usize {
    match data_type {
        DataType::Unspecified => 0,
        DataType::Uint8 | DataType::Int8 => 1,
        DataType::Int16 | DataType::Float16 => 2,
        DataType::Int32 | DataType::Float32 => 4,
        DataType::Int64 => 8,
    }
}

/// Returns the type's name in messages and in NumPy.
pub const fn type_name(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Unspecified => "unspecified",
        DataType::Uint8 => "uint8",
        DataType::Int8 => "int8",
        DataType::Int16 => "int16",
        DataType::Int32 => "int32",
        DataType::Int64 => "int64",
        DataType::Float16 => "float16",
        DataType::Float32 => "float32",
    }
}

/// Returns the layout as text, such as `uint8[1, 8, 8]`, or `any bytes` if it has no tensors.
pub fn describe(layout: &InputLayout) -> String {
    if layout.tensors.is_empty() {
        return "any bytes".into();
    }
    layout.tensors.iter().map(in_words).collect::<Vec<_>>().join(" + ")
}

/// Returns a tensor as text, without its name: `uint8[3, 224, 224]`.
pub fn in_words(tensor: &TensorSpec) -> String {
    tensor_in_words(tensor.data_type(), &tensor.shape)
}

fn tensor_in_words(data_type: DataType, shape: &[i64]) -> String {
    let lengths: Vec<_> =
        shape.iter().map(|n| if *n < 0 { "?".to_owned() } else { n.to_string() }).collect();
    format!("{}[{}]", type_name(data_type), lengths.join(", "))
}

/// Returns true if a receiver of layout `takes` accepts samples of layout `holds`. Names of tensors
/// do not matter.
pub fn accepts(takes: &InputLayout, holds: &InputLayout) -> bool {
    takes.tensors.is_empty()
        || takes.tensors.len() == holds.tensors.len()
            && takes.tensors.iter().zip(&holds.tensors).all(|(a, b)| {
                a.data_type == b.data_type
                    && a.shape.len() == b.shape.len()
                    && a.shape.iter().zip(&b.shape).all(|(a, b)| *a < 0 || a == b)
            })
}

/// Returns the only tensor of a raw layout, or `None` if payloads are packed or arbitrary bytes.
pub fn raw_tensor(layout: &InputLayout) -> Option<&TensorSpec> {
    match layout.tensors.as_slice() {
        [only] if only.shape.iter().all(|length| *length >= 0) => Some(only),
        _ => None,
    }
}

/// Returns true if payloads of the layout are packed.
pub fn is_packed(layout: &InputLayout) -> bool {
    !layout.tensors.is_empty() && raw_tensor(layout).is_none()
}

/// Returns the length of a tensor of fixed shape, in bytes, or `None` if its shape varies or the
/// product overflows.
pub fn fixed_bytes(spec: &TensorSpec) -> Option<usize> {
    let shape = spec.shape.iter().map(|n| usize::try_from(*n).ok()).collect::<Option<Vec<_>>>()?;
    byte_length(spec.data_type(), &shape)
}

fn byte_length(data_type: DataType, shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(element_bytes(data_type), |product, n| product.checked_mul(*n))
}

/// Packs tensors into one payload.
pub fn pack(tensors: &[TensorView<'_>]) -> Bytes {
    let mut payload = BytesMut::new();
    payload.put_u32_le(tensors.len() as u32);
    payload.put_u32_le(0);
    for tensor in tensors {
        payload.put_u32_le(tensor.data_type as u32);
        payload.put_u32_le(tensor.shape.len() as u32);
        for length in &tensor.shape {
            payload.put_u64_le(*length as u64);
        }
    }
    for tensor in tensors {
        payload.put_bytes(0, payload.len().next_multiple_of(ALIGNMENT) - payload.len());
        payload.put_slice(tensor.data);
    }
    payload.freeze()
}

/// Reads a payload's tensors and compares them with the layout. Returns no tensors if the layout
/// has none.
pub fn read<'a>(
    layout: &InputLayout,
    payload: &'a [u8],
) -> Result<Vec<TensorView<'a>>, LayoutError> {
    if layout.tensors.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(spec) = raw_tensor(layout) {
        return read_raw(spec, payload).map(|tensor| vec![tensor]);
    }
    let tensors = unpack(payload)?;
    let fits = tensors.len() == layout.tensors.len()
        && layout.tensors.iter().zip(&tensors).all(|(spec, tensor)| fits(spec, tensor));
    if fits {
        return Ok(tensors);
    }
    let got = tensors.iter().map(|t| {
        tensor_in_words(t.data_type, &t.shape.iter().map(|n| *n as i64).collect::<Vec<_>>())
    });
    let (got, want) = (got.collect::<Vec<_>>().join(" + "), describe(layout));
    Err(LayoutError::Mismatch(format!("the payload holds {got}, the model takes {want}")))
}

fn read_raw<'a>(spec: &TensorSpec, payload: &'a [u8]) -> Result<TensorView<'a>, LayoutError> {
    let data_type = spec.data_type();
    let want = fixed_bytes(spec).filter(|_| data_type != DataType::Unspecified);
    let no_type = || LayoutError::Mismatch("a tensor of the layout has no data type".into());
    let want = want.ok_or_else(no_type)?;
    if payload.len() != want {
        let spec = tensor_in_words(data_type, &spec.shape);
        let got = payload.len();
        return Err(LayoutError::Mismatch(format!(
            "the payload has {got} bytes, {spec} needs {want}"
        )));
    }
    let shape = spec.shape.iter().map(|n| *n as usize).collect();
    Ok(TensorView { data_type, shape, data: payload })
}

fn fits(spec: &TensorSpec, tensor: &TensorView<'_>) -> bool {
    spec.data_type() == tensor.data_type
        && spec.shape.len() == tensor.shape.len()
        && spec.shape.iter().zip(&tensor.shape).all(|(want, got)| *want < 0 || *want == *got as i64)
}

/// Reads the tensors of a packed payload, whatever their number, types and shapes.
pub fn unpack(payload: &[u8]) -> Result<Vec<TensorView<'_>>, LayoutError> {
    let mut table = Cursor { payload, at: 0 };
    let count = table.u32()? as usize;
    if count > MAX_TENSORS {
        return Err(LayoutError::Damaged("more than 64 tensors"));
    }
    if table.u32()? != 0 {
        return Err(LayoutError::Damaged("the second word is not zero"));
    }
    let mut tensors = Vec::with_capacity(count);
    for _ in 0..count {
        let data_type = DataType::try_from(table.u32()? as i32)
            .ok()
            .filter(|data_type| *data_type != DataType::Unspecified)
            .ok_or(LayoutError::Damaged("unknown data type"))?;
        let rank = table.u32()? as usize;
        if rank > MAX_RANK {
            return Err(LayoutError::Damaged("more than 8 dimensions"));
        }
        let shape = (0..rank).map(|_| table.length()).collect::<Result<Vec<_>, _>>()?;
        tensors.push(TensorView { data_type, shape, data: &[] });
    }
    for tensor in &mut tensors {
        let bytes = byte_length(tensor.data_type, &tensor.shape)
            .ok_or(LayoutError::Damaged("a shape overflows"))?;
        table.align()?;
        tensor.data = table.take(bytes)?;
    }
    if table.at != payload.len() {
        return Err(LayoutError::Damaged("there are bytes after the last tensor"));
    }
    Ok(tensors)
}

/// Reader of a payload from its beginning, never past its end.
struct Cursor<'a> {
    payload: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], LayoutError> {
        let end = self.at.checked_add(bytes).ok_or(LayoutError::Damaged("a length overflows"))?;
        let slice = self.payload.get(self.at..end).ok_or(LayoutError::Damaged("it ends early"))?;
        self.at = end;
        Ok(slice)
    }

    fn word<const N: usize>(&mut self) -> Result<[u8; N], LayoutError> {
        self.take(N)?.try_into().map_err(|_| LayoutError::Damaged("it ends early"))
    }

    fn u32(&mut self) -> Result<u32, LayoutError> {
        self.word().map(u32::from_le_bytes)
    }

    fn length(&mut self) -> Result<usize, LayoutError> {
        let length = u64::from_le_bytes(self.word()?);
        usize::try_from(length).map_err(|_| LayoutError::Damaged("a length overflows"))
    }

    fn align(&mut self) -> Result<(), LayoutError> {
        let gap = self.take(self.at.next_multiple_of(ALIGNMENT) - self.at)?;
        if gap.iter().any(|byte| *byte != 0) {
            return Err(LayoutError::Damaged("the gap before a tensor is not zero"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
