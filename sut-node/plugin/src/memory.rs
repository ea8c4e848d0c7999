//! Memory that a plug-in reads and writes.

use std::{
    fmt,
    ptr::{self, NonNull},
    slice,
    sync::Arc,
};

use netdiv_contract::layout::{DataType, element_bytes};

use crate::{
    abi::{self, MAX_RANK},
    error::PluginError,
    handle::InstanceHandle,
};

/// Alignment that the header requires, in bytes.
const ALIGNMENT: usize = 64;

/// A tensor in memory that a plug-in allocated. It can change to any shape that fits into the
/// memory.
pub struct PluginTensor {
    data_type: DataType,
    shape: Vec<usize>,
    bytes: usize,
    memory: NonNull<u8>,
    room: usize,
    owner: Arc<InstanceHandle>,
}

// SAFETY: the memory belongs to this value alone. One thread at a time calls the plug-in's function
// to release it, which `InstanceHandle::lock` ensures.
unsafe impl Send for PluginTensor {}

impl PluginTensor {
    pub(crate) fn new(
        owner: Arc<InstanceHandle>,
        data_type: DataType,
        shape: &[usize],
    ) -> Result<Self, PluginError> {
        let room = byte_length(data_type, shape)?;
        let mut memory = ptr::null_mut();
        {
            let instance = owner.lock();
            let allocate = owner.functions().allocate;
            // SAFETY: the instance is open and locked.
            owner.table().call(|error| unsafe {
                allocate(*instance, room.max(1) as u64, &mut memory, error)
            })?;
        }
        let memory = NonNull::new(memory.cast::<u8>()).ok_or_else(|| {
            PluginError::Failed("allocate returned neither memory nor an error".into())
        })?;
        let tensor = Self { data_type, shape: shape.to_vec(), bytes: room, memory, room, owner };
        if memory.align_offset(ALIGNMENT) != 0 {
            let text = format!("allocate returned memory that is not aligned to {ALIGNMENT} bytes");
            return Err(PluginError::Failed(text));
        }
        // SAFETY: the plug-in allocated that many bytes. From here on they are initialised.
        unsafe { memory.write_bytes(0, room) };
        Ok(tensor)
    }

    /// Changes the shape. Fails if the memory is too small for the new shape.
    pub fn reshape(&mut self, shape: &[usize]) -> Result<(), PluginError> {
        let bytes = byte_length(self.data_type, shape)?;
        if bytes > self.room {
            let text = format!("{bytes} bytes do not fit into a tensor of {}", self.room);
            return Err(PluginError::Failed(text));
        }
        (self.shape, self.bytes) = (shape.to_vec(), bytes);
        Ok(())
    }

    /// True if the memory is large enough for `shape`.
    pub fn has_room_for(&self, shape: &[usize]) -> bool {
        byte_length(self.data_type, shape).is_ok_and(|bytes| bytes <= self.room)
    }

    /// Returns the lengths of the dimensions; the first is the batch.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the elements, little-endian.
    pub fn data(&self) -> &[u8] {
        // SAFETY: this value owns the memory, which is initialised and at least that long.
        unsafe { slice::from_raw_parts(self.memory.as_ptr(), self.bytes) }
    }

    /// Returns the elements, little-endian, for writing.
    pub fn data_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.memory.as_ptr(), self.bytes) }
    }

    pub(crate) fn raw(&self) -> abi::Tensor {
        let mut shape = [0; MAX_RANK];
        for (length, known) in shape.iter_mut().zip(&self.shape) {
            *length = *known as i64;
        }
        abi::Tensor {
            data_type: self.data_type as u32,
            rank: self.shape.len() as u32,
            shape,
            data: self.memory.as_ptr().cast(),
            bytes: self.bytes as u64,
        }
    }
}

/// Returns the number of bytes of a tensor. Fails if a machine cannot address so many, or if the
/// tensor has too many dimensions.
fn byte_length(data_type: DataType, shape: &[usize]) -> Result<usize, PluginError> {
    let product =
        shape.iter().try_fold(element_bytes(data_type), |n, length| n.checked_mul(*length));
    match product {
        Some(bytes) if isize::try_from(bytes).is_ok() && shape.len() <= MAX_RANK => Ok(bytes),
        _ => Err(PluginError::Failed(format!("a tensor of the shape {shape:?} is too long"))),
    }
}

impl Drop for PluginTensor {
    fn drop(&mut self) {
        let instance = self.owner.lock();
        if self.owner.table().loss_reason().is_some() {
            return;
        }
        // SAFETY: the memory is from this instance, and no batch holds it: a batch in progress owns
        // its tensors.
        unsafe { (self.owner.functions().release)(*instance, self.memory.as_ptr().cast()) }
    }
}

impl fmt::Debug for PluginTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({:?}{:?})", self.data_type, self.shape)
    }
}
