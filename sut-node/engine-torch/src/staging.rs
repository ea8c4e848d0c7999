//! Memory in which the node prepares batches.

use std::{collections::HashMap, ffi::c_void, ptr};

use netdiv_plugin::abi;
use tch::{Device, Tensor};

use crate::{failure::Failure, pipeline};

/// Alignment that the ABI requires, in bytes.
const ALIGNMENT: usize = 64;

/// Allocator of memory for batches of one instance: pinned memory for a CUDA device, else aligned
/// memory.
pub(crate) struct Staging {
    device: Device,
    /// Tensors that own the pinned memory, by its address.
    pinned: HashMap<*mut c_void, Tensor>,
}

// SAFETY: the pointers are keys, and the memory is not bound to a thread.
unsafe impl Send for Staging {}

impl Staging {
    pub(crate) fn new(device: Device) -> Self {
        Self { device, pinned: HashMap::new() }
    }

    pub(crate) fn allocate(&mut self, bytes: u64) -> Result<*mut c_void, Failure> {
        let full = || Failure {
            status: abi::OUT_OF_MEMORY,
            text: format!("cannot allocate {bytes} bytes of host memory for a batch"),
        };
        let length = usize::try_from(bytes).map_err(|_| full())?;
        if self.device.is_cuda() {
            let tensor = pipeline::pinned(i64::try_from(bytes).map_err(|_| full())?)?;
            let memory = tensor.data_ptr();
            self.pinned.insert(memory, tensor);
            return Ok(memory);
        }
        let mut memory = ptr::null_mut();
        // SAFETY: the alignment is a power of two and a multiple of a pointer's size.
        let error = unsafe { libc::posix_memalign(&mut memory, ALIGNMENT, length) };
        if error == 0 { Ok(memory) } else { Err(full()) }
    }

    pub(crate) fn release(&mut self, memory: *mut c_void) {
        if self.pinned.remove(&memory).is_none() {
            // SAFETY: memory that is not pinned is from posix_memalign, and is freed once.
            unsafe { libc::free(memory) }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    #[test]
    fn memory_of_the_host_is_aligned_and_ours() {
        let mut staging = Staging::new(Device::Cpu);
        let given: Vec<_> = (1..100)
            .map(|bytes| (staging.allocate(bytes).map_err(|f| f.text).unwrap(), bytes))
            .collect();
        for (memory, bytes) in &given {
            assert_eq!(*memory as usize % ALIGNMENT, 0);
            // SAFETY: it has `bytes` bytes.
            unsafe { slice::from_raw_parts_mut(memory.cast::<u8>(), *bytes as usize) }.fill(7);
        }
        given.into_iter().for_each(|(memory, _)| staging.release(memory));
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let full = Staging::new(Device::Cpu).allocate(1 << 60).expect_err("an error");
        assert_eq!(full.status, abi::OUT_OF_MEMORY);
        assert!(full.text.contains("1152921504606846976 bytes"), "{}", full.text);
    }
}
