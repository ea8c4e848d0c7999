//! The shim's functions: CUDA streams, events, pinned memory.

use std::{
    ffi::{CStr, c_char, c_int},
    mem,
    ptr::{self, NonNull},
};

use tch::Tensor;
use torch_sys::C_tensor;

use crate::{failure::Failure, steps::Streams};

enum RawPipeline {}
enum RawEntered {}
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
    fn netdiv_pipeline_enter(
        pipeline: *mut RawPipeline,
        entered: *mut *mut RawEntered,
    ) -> *mut c_char;
    fn netdiv_pipeline_compute(entered: *mut RawEntered, slot: usize) -> *mut c_char;
    fn netdiv_pipeline_leave(entered: *mut RawEntered, slot: usize) -> *mut c_char;
    fn netdiv_pipeline_synchronize(pipeline: *mut RawPipeline) -> *mut c_char;
    fn netdiv_pipeline_wait(pipeline: *mut RawPipeline, slot: usize) -> *mut c_char;
    fn netdiv_inference_mode_new() -> *mut RawInferenceMode;
    fn netdiv_inference_mode_free(mode: *mut RawInferenceMode);
    fn netdiv_tf32(allowed: bool) -> *mut c_char;
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

/// Copies without waiting, if the device and the memory allow it.
pub(crate) fn copy(to: &mut Tensor, from: &Tensor) -> Result<(), Failure> {
    // SAFETY: both tensors live through the call; the caller keeps their memory until the stream is done with it.
    check(unsafe { netdiv_copy(to.as_mut_ptr(), from.as_ptr()) })
}

/// A copying and a computing stream of one CUDA device.
pub(crate) struct Pipeline {
    raw: NonNull<RawPipeline>,
    /// This thread's use of the streams, while a batch begins; else null.
    entered: *mut RawEntered,
}

// SAFETY: streams and events are not bound to a thread; a pipeline is used by one at a time, and entered within one call.
unsafe impl Send for Pipeline {}

impl Pipeline {
    pub(crate) fn new(index: usize, slots: usize) -> Result<Self, Failure> {
        let mut pipeline = ptr::null_mut();
        // SAFETY: the shim writes a new pipeline there when it succeeds.
        check(unsafe { netdiv_pipeline_new(index as c_int, slots, &mut pipeline) })?;
        let raw = NonNull::new(pipeline)
            .ok_or_else(|| Failure::failed("the device gave no streams".into()))?;
        Ok(Self { raw, entered: ptr::null_mut() })
    }

    /// What waits for the slots' work.
    pub(crate) fn waiter(&self) -> Waiter {
        Waiter(self.raw)
    }
}

/// Waits for the work of a pipeline's slots, on any thread.
#[derive(Clone, Copy)]
pub(crate) struct Waiter(NonNull<RawPipeline>);

impl Waiter {
    /// Waits for the slot's work.
    ///
    /// # Safety
    ///
    /// The pipeline lives through the call, and nobody begins work of this slot meanwhile.
    pub(crate) unsafe fn wait(&self, slot: usize) -> Result<(), Failure> {
        // SAFETY: as above. Waiting reads the slot's events, and work of other slots changes only theirs.
        check(unsafe { netdiv_pipeline_wait(self.0.as_ptr(), slot) })
    }
}

impl Streams for Pipeline {
    fn enter(&mut self) -> Result<(), Failure> {
        // SAFETY: the pipeline is ours; the shim writes a guard there when it succeeds.
        check(unsafe { netdiv_pipeline_enter(self.raw.as_ptr(), &mut self.entered) })
    }

    fn compute(&mut self, slot: usize) -> Result<(), Failure> {
        // SAFETY: the guard is open, on this thread.
        check(unsafe { netdiv_pipeline_compute(self.entered, slot) })
    }

    fn leave(&mut self, slot: usize) -> Result<(), Failure> {
        let entered = mem::replace(&mut self.entered, ptr::null_mut());
        // SAFETY: the guard is open, on this thread, and closed once.
        check(unsafe { netdiv_pipeline_leave(entered, slot) })
    }

    fn synchronize(&mut self) -> Result<(), Failure> {
        // SAFETY: the pipeline is ours.
        check(unsafe { netdiv_pipeline_synchronize(self.raw.as_ptr()) })
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: it is ours and used no more.
        unsafe { netdiv_pipeline_free(self.raw.as_ptr()) }
    }
}

/// Disables gradients on this thread while it lives.
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

/// Whether fp32 matrices are multiplied as TF32, if the device can.
pub(crate) fn allow_tf32(allowed: bool) -> Result<(), Failure> {
    // SAFETY: it changes settings of libtorch.
    check(unsafe { netdiv_tf32(allowed) })
}

/// Lets the process keep freed memory for the next batch.
pub(crate) fn keep_memory() {
    // SAFETY: it changes settings of malloc, which is always allowed.
    unsafe { netdiv_keep_memory() }
}
