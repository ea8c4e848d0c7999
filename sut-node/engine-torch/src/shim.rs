//! Functions of the shim in C++ (`shim/shim.cc`) that need no stream: errors, settings of the whole
//! process, inference mode. Switches: environment variables that turn optimisations of libtorch on.
//! Only a measurement on a GPU can show their benefit, so they are off by default.

use std::{
    cell::Cell,
    env,
    ffi::{CStr, c_char},
    sync::Mutex,
};

use tch::Device;

use crate::failure::Failure;

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
pub(crate) fn shim_result(error: *mut c_char) -> Result<(), Failure> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the shim returns null, or a text that the caller owns.
    Err(Failure::torch(&unsafe { owned_text(error) }))
}

/// Takes a text of the shim, and frees the shim's memory.
///
/// # Safety
///
/// The text is the shim's, ends with a zero, and is taken once.
pub(crate) unsafe fn owned_text(text: *mut c_char) -> String {
    // SAFETY: as above; it is from malloc.
    unsafe {
        let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
        libc::free(text.cast());
        owned
    }
}

/// Configures libtorch for a model of this precision on this device, for the whole process. Graphs
/// are optimised in the same way on every device, so that tests on a CPU run the graph of a GPU.
pub(crate) fn set_up(
    device: Device,
    precision: &str,
    cudnn_attention: bool,
) -> Result<(), Failure> {
    static ALONE: Mutex<()> = Mutex::new(());
    let fuser = uses_fuser()?;
    // Several threads load models at the same time.
    let _alone = ALONE.lock();
    // SAFETY: these change settings of libtorch, one thread at a time.
    unsafe {
        netdiv_fusion(fuser);
        shim_result(netdiv_cudnn_attention(cudnn_attention))?;
        if device.is_cuda() {
            shim_result(netdiv_tf32(precision == "tf32"))?;
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

/// Returns true if TorchScript may fuse pointwise operations on a GPU. NVRTC compiles the kernels
/// for each shape.
pub(crate) fn uses_fuser() -> Result<bool, Failure> {
    is_on("NETDIV_TORCH_FUSER")
}

/// Returns true if cuDNN may compute the attention of networks with fixed shapes. It builds a plan
/// for each shape.
pub(crate) fn uses_cudnn_attention() -> Result<bool, Failure> {
    is_on("NETDIV_TORCH_CUDNN_ATTENTION")
}

fn is_on(name: &str) -> Result<bool, Failure> {
    switch(name, env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
}

fn switch(name: &str, value: Option<String>) -> Result<bool, Failure> {
    match value.as_deref() {
        None | Some("" | "0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(Failure::refused(format!("{name} is {other:?}; set it to 0 or 1"))),
    }
}

thread_local! {
    /// Set once this thread has configured libtorch.
    static PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// Sets the number of threads that libtorch uses for the operations of the current thread. Only the
/// first call on each thread has an effect.
pub(crate) fn set_threads(threads: i32) {
    if !PREPARED.replace(true) {
        tch::set_num_threads(threads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_off_until_it_is_set_to_1() {
        let on = |value: Option<&str>| {
            switch("X", value.map(ToOwned::to_owned)).map_err(|failure| failure.text)
        };
        for value in [None, Some(""), Some("0")] {
            assert_eq!(on(value), Ok(false));
        }
        assert_eq!(on(Some("1")), Ok(true));
        assert_eq!(on(Some("yes")), Err("X is \"yes\"; set it to 0 or 1".into()));
    }
}
