//! Memory in which the node puts batches together.

use std::{collections::HashMap, ffi::c_void, ptr};

use netdiv_plugin::abi;
use tch::{Device, Tensor};

use crate::{failure::Failure, pipeline};

/// What the ABI promises.
const ALIGNMENT: usize = 64;

/// Pinned for a CUDA device, else aligned.
pub(crate) struct Staging {
    device: Device,
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
            text: format!("there are no {bytes} bytes for a batch in the host's memory"),
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
        match unsafe { libc::posix_memalign(&mut memory, ALIGNMENT, length) } {
            0 => Ok(memory),
            _ => Err(full()),
        }
    }

    pub(crate) fn release(&mut self, memory: *mut c_void) {
        if self.pinned.remove(&memory).is_none() {
            // SAFETY: what is not pinned comes from posix_memalign, and is given back once.
            unsafe { libc::free(memory) }
        }
    }
}
