//! Functions of the shim in C++ (`shim/shim.cc`) that need no stream: errors, settings of the whole
//! process, inference mode.

use std::ffi::{CStr, c_char};

use tch::Device;

use crate::{failure::Failure, switches};

enum RawInferenceMode {}

unsafe extern "C" {
    fn netdiv_inference_mode_new() -> *mut RawInferenceMode;
    fn netdiv_inference_mode_free(mode: *mut RawInferenceMode);
    fn netdiv_fusion(on_gpu: bool);
    fn netdiv_cudnn_attention(allowed: bool) -> *mut c_char;
    #[cfg(test)]
    fn netdiv_has_cudnn_attention() -> bool;
    fn netdiv_tf32(allowed: bool) -> *mut c_char;
    fn netdiv_keep_memory();
}

/// Turns the result of a function of the shim, an error text or null, into a `Result`.
pub(crate) fn check(error: *mut c_char) -> Result<(), Failure> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the shim returns null, or a text from strdup that the caller owns.
    let text = unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        libc::free(error.cast());
        text
    };
    Err(Failure::torch(&text))
}

/// Configures libtorch for a model of this precision on this device, for the whole process. Graphs
/// are optimised in the same way on every device, so that tests on a CPU run the graph of a GPU.
pub(crate) fn set_up(
    device: Device,
    precision: &str,
    cudnn_attention: bool,
) -> Result<(), Failure> {
    let fuser = switches::fuser()?;
    // SAFETY: these change settings of libtorch.
    unsafe {
        netdiv_fusion(fuser);
        check(netdiv_cudnn_attention(cudnn_attention))?;
        if device.is_cuda() {
            check(netdiv_tf32(precision == "tf32"))?;
        } else {
            // Settings of malloc: the process keeps freed memory for the next batch.
            netdiv_keep_memory();
        }
    }
    Ok(())
}

/// Returns true if cuDNN may compute attention.
#[cfg(test)]
pub(crate) fn has_cudnn_attention() -> bool {
    // SAFETY: it reads a setting of libtorch.
    unsafe { netdiv_has_cudnn_attention() }
}

/// Guard that disables gradients on this thread until it is dropped.
pub(crate) struct InferenceMode(*mut RawInferenceMode);

impl InferenceMode {
    pub(crate) fn enter() -> Self {
        // SAFETY: the pointer keeps the guard on this thread, as it is not Send.
        Self(unsafe { netdiv_inference_mode_new() })
    }
}

impl Drop for InferenceMode {
    fn drop(&mut self) {
        // SAFETY: made by `enter`, on this thread.
        unsafe { netdiv_inference_mode_free(self.0) }
    }
}
