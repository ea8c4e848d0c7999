//! The shim's functions: streams, events, pinned memory.

use std::{
    ffi::{CStr, c_char, c_int},
    ptr::{self, NonNull},
};

use tch::Tensor;
use torch_sys::C_tensor;

use crate::failure::Failure;

enum RawPipeline {}
enum RawInferenceMode {}

unsafe extern "C" {
    fn netdiv_pinned(bytes: i64, tensor: *mut *mut C_tensor) -> *mut c_char;
    fn netdiv_copy(to: *mut C_tensor, from: *const C_tensor) -> *mut c_char;
    fn netdiv_pipeline_new(
        index: c_int,
        slots: usize,
        pipeline: *mut *mut RawPipeline,
    ) -> *mut c_char;
    fn netdiv_pipeline_free(pipeline: *mut RawPipeline);
    fn netdiv_pipeline_copy(pipeline: *mut RawPipeline) -> *mut c_char;
    fn netdiv_pipeline_compute(pipeline: *mut RawPipeline, slot: usize) -> *mut c_char;
    fn netdiv_pipeline_leave(pipeline: *mut RawPipeline, slot: usize) -> *mut c_char;
    fn netdiv_pipeline_wait(pipeline: *mut RawPipeline, slot: usize) -> *mut c_char;
    fn netdiv_inference_mode_new() -> *mut RawInferenceMode;
    fn netdiv_inference_mode_free(mode: *mut RawInferenceMode);
    fn netdiv_keep_memory();
}

/// The error of a call, if there is one.
fn check(error: *mut c_char) -> Result<(), Failure> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the shim returns null or a text that was made with strdup and is the caller's.
    let text = unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        libc::free(error.cast());
        text
    };
    Err(Failure::torch(&text))
}

/// Memory that the device reads directly.
pub(crate) fn pinned(bytes: i64) -> Result<Tensor, Failure> {
    let mut tensor = ptr::null_mut();
    // SAFETY: the shim writes a new tensor there when it succeeds.
    check(unsafe { netdiv_pinned(bytes, &mut tensor) })?;
    // SAFETY: the tensor is new; the clone shares it, and the shim's is freed.
    unsafe {
        let shared = Tensor::clone_from_ptr(tensor);
        torch_sys::at_free(tensor);
        Ok(shared)
    }
}

/// Copies without waiting, where the device and the memory allow it.
pub(crate) fn copy(to: &mut Tensor, from: &Tensor) -> Result<(), Failure> {
    // SAFETY: both tensors live through the call; the caller keeps their memory until the stream is done with it.
    check(unsafe { netdiv_copy(to.as_mut_ptr(), from.as_ptr()) })
}

/// A copying and a computing stream of one CUDA device.
pub(crate) struct Pipeline(NonNull<RawPipeline>);

// SAFETY: streams and events are not bound to a thread; a pipeline is used by one at a time.
unsafe impl Send for Pipeline {}

impl Pipeline {
    pub(crate) fn new(index: usize, slots: usize) -> Result<Self, Failure> {
        let mut pipeline = ptr::null_mut();
        // SAFETY: the shim writes a new pipeline there when it succeeds.
        check(unsafe { netdiv_pipeline_new(index as c_int, slots, &mut pipeline) })?;
        let pipeline = NonNull::new(pipeline);
        pipeline.map(Self).ok_or_else(|| Failure::failed("the device gave no streams".into()))
    }

    /// Work of this thread goes to the copying stream.
    pub(crate) fn copying(&mut self) -> Result<(), Failure> {
        // SAFETY: the pipeline is ours.
        check(unsafe { netdiv_pipeline_copy(self.0.as_ptr()) })
    }

    /// Then to the computing stream, once the slot's copies are there.
    pub(crate) fn computing(&mut self, slot: usize) -> Result<(), Failure> {
        // SAFETY: as above.
        check(unsafe { netdiv_pipeline_compute(self.0.as_ptr(), slot) })
    }

    /// Ends the slot's work and this thread's use of the streams.
    pub(crate) fn leave(&mut self, slot: usize) -> Result<(), Failure> {
        // SAFETY: as above.
        check(unsafe { netdiv_pipeline_leave(self.0.as_ptr(), slot) })
    }

    /// Waits for the slot's work.
    pub(crate) fn wait(&mut self, slot: usize) -> Result<(), Failure> {
        // SAFETY: as above.
        check(unsafe { netdiv_pipeline_wait(self.0.as_ptr(), slot) })
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: it is ours and used no more.
        unsafe { netdiv_pipeline_free(self.0.as_ptr()) }
    }
}

/// No gradients on this thread while it lives.
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

/// Lets the process keep freed memory for the next batch.
pub(crate) fn keep_memory() {
    // SAFETY: it changes settings of malloc, which is allowed at any time.
    unsafe { netdiv_keep_memory() }
}
