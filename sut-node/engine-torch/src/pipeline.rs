//! Two CUDA streams (queues of work for a device), one to copy and one to compute; also pinned
//! memory, and copies that do not block.

use std::{
    ffi::{c_char, c_int},
    mem,
    ptr::{self, NonNull},
};

use tch::Tensor;
use torch_sys::C_tensor;

use crate::{failure::Failure, patience::DeviceWork, shim::shim_result, steps::Streams};

enum RawPipeline {}
enum RawStreamScope {}

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
        entered: *mut *mut RawStreamScope,
    ) -> *mut c_char;
    fn netdiv_pipeline_compute(entered: *mut RawStreamScope, slot: usize) -> *mut c_char;
    fn netdiv_pipeline_leave(entered: *mut RawStreamScope, slot: usize) -> *mut c_char;
    fn netdiv_pipeline_synchronize(pipeline: *mut RawPipeline) -> *mut c_char;
    fn netdiv_pipeline_wait(pipeline: *mut RawPipeline, slot: usize) -> *mut c_char;
    fn netdiv_pipeline_is_done(
        pipeline: *mut RawPipeline,
        slot: usize,
        is_done: *mut bool,
    ) -> *mut c_char;
}

/// Allocates `bytes` bytes of pinned memory, which the device reads directly.
pub(crate) fn pinned(bytes: i64) -> Result<Tensor, Failure> {
    let mut tensor = ptr::null_mut();
    // SAFETY: the shim writes a new tensor there when it succeeds.
    shim_result(unsafe { netdiv_pinned(bytes, &mut tensor) })?;
    // SAFETY: the tensor is new; the clone shares it, and the shim's is freed.
    unsafe {
        let shared = Tensor::clone_from_ptr(tensor);
        torch_sys::at_free(tensor);
        Ok(shared)
    }
}

/// Copies `from` to `to`. Does not wait for the copy if the device and the memory support this.
pub(crate) fn copy(to: &mut Tensor, from: &Tensor) -> Result<(), Failure> {
    // SAFETY: both tensors live through the call. The caller keeps their memory until the stream
    // has used it.
    shim_result(unsafe { netdiv_copy(to.as_mut_ptr(), from.as_ptr()) })
}

/// Two streams of a CUDA device, one to copy and one to compute.
pub(crate) struct Pipeline {
    raw: NonNull<RawPipeline>,
    /// Guard of the shim that directs this thread's work to the streams while a batch begins; else
    /// null.
    entered: *mut RawStreamScope,
}

// SAFETY: streams and events are not bound to a thread. One thread at a time uses a pipeline, and
// enters and leaves it within one call.
unsafe impl Send for Pipeline {}

impl Pipeline {
    pub(crate) fn new(index: usize, slots: usize) -> Result<Self, Failure> {
        let mut pipeline = ptr::null_mut();
        // SAFETY: the shim writes a new pipeline there when it succeeds.
        shim_result(unsafe { netdiv_pipeline_new(index as c_int, slots, &mut pipeline) })?;
        let raw = NonNull::new(pipeline)
            .ok_or_else(|| Failure::failed("the device returned no streams".into()))?;
        Ok(Self { raw, entered: ptr::null_mut() })
    }

    /// Returns a waiter for the work in the slots.
    pub(crate) fn waiter(&self) -> Waiter {
        Waiter(self.raw)
    }
}

/// Waits for the work of a pipeline's slots, on any thread.
#[derive(Clone, Copy)]
pub(crate) struct Waiter(NonNull<RawPipeline>);

impl Waiter {
    /// Returns the work in a slot, for the caller to wait for.
    ///
    /// # Safety
    ///
    /// The pipeline lives as long as the result, and no thread begins work in this slot meanwhile.
    pub(crate) unsafe fn batch(self, slot: usize) -> impl DeviceWork {
        Slot { pipeline: self.0, slot }
    }
}

/// Work in a slot of a pipeline. No thread begins other work in the slot while this value lives.
struct Slot {
    pipeline: NonNull<RawPipeline>,
    slot: usize,
}

impl DeviceWork for Slot {
    fn is_done(&mut self) -> Result<bool, Failure> {
        let mut is_done = false;
        // SAFETY: the pipeline lives, as `Waiter::batch` requires. The query reads the slot's
        // events, and work of other slots changes only their own.
        shim_result(unsafe {
            netdiv_pipeline_is_done(self.pipeline.as_ptr(), self.slot, &mut is_done)
        })?;
        Ok(is_done)
    }

    fn wait(&mut self) -> Result<(), Failure> {
        // SAFETY: as above; the wait reads the slot's events too.
        shim_result(unsafe { netdiv_pipeline_wait(self.pipeline.as_ptr(), self.slot) })
    }
}

impl Streams for Pipeline {
    fn enter(&mut self) -> Result<(), Failure> {
        // SAFETY: the pipeline is ours; the shim writes a guard there when it succeeds.
        shim_result(unsafe { netdiv_pipeline_enter(self.raw.as_ptr(), &mut self.entered) })
    }

    fn compute(&mut self, slot: usize) -> Result<(), Failure> {
        // SAFETY: the guard is open, on this thread.
        shim_result(unsafe { netdiv_pipeline_compute(self.entered, slot) })
    }

    fn leave(&mut self, slot: usize) -> Result<(), Failure> {
        let entered = mem::replace(&mut self.entered, ptr::null_mut());
        // SAFETY: the guard is open, on this thread, and closed once.
        shim_result(unsafe { netdiv_pipeline_leave(entered, slot) })
    }

    fn synchronize(&mut self) -> Result<(), Failure> {
        // SAFETY: the pipeline is ours.
        shim_result(unsafe { netdiv_pipeline_synchronize(self.raw.as_ptr()) })
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: it is ours and used no more.
        unsafe { netdiv_pipeline_free(self.raw.as_ptr()) }
    }
}
