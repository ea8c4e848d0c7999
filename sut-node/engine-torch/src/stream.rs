//! A separate CUDA stream for each instance, so that instances on one GPU do not wait for each
//! other.

use std::{
    ffi::{c_char, c_int},
    ptr::{self, NonNull},
};

use tch::Device;

use crate::{
    failure::Failure,
    patience::{DeviceWork, WaitStrategy},
    shim::shim_result,
};

enum RawStream {}
enum RawOnStream {}

unsafe extern "C" {
    fn netdiv_stream_new(index: c_int, stream: *mut *mut RawStream) -> *mut c_char;
    fn netdiv_stream_free(stream: *mut RawStream);
    fn netdiv_stream_enter(stream: *mut RawStream, entered: *mut *mut RawOnStream) -> *mut c_char;
    fn netdiv_stream_leave(entered: *mut RawOnStream);
    fn netdiv_stream_mark(stream: *mut RawStream) -> *mut c_char;
    fn netdiv_stream_is_done(stream: *mut RawStream, is_done: *mut bool) -> *mut c_char;
    fn netdiv_stream_wait(stream: *mut RawStream) -> *mut c_char;
}

/// A stream on a CUDA device. Work on a CPU needs none.
pub(crate) struct Stream {
    raw: Option<NonNull<RawStream>>,
    patience: WaitStrategy,
}

// SAFETY: a stream is not bound to a thread.
unsafe impl Send for Stream {}

impl Stream {
    pub(crate) fn new(device: Device) -> Result<Self, Failure> {
        let Device::Cuda(index) = device else {
            return Ok(Self { raw: None, patience: WaitStrategy::default() });
        };
        let mut stream = ptr::null_mut();
        // SAFETY: the shim writes a new stream there when it succeeds.
        shim_result(unsafe { netdiv_stream_new(index as c_int, &mut stream) })?;
        let stream = NonNull::new(stream)
            .ok_or_else(|| Failure::failed("the device returned no stream".into()))?;
        Ok(Self { raw: Some(stream), patience: WaitStrategy::default() })
    }

    /// Directs this thread's work to the stream, until the guard is dropped.
    pub(crate) fn enter(&self) -> Result<StreamGuard, Failure> {
        let mut entered = ptr::null_mut();
        if let Some(stream) = self.raw {
            // SAFETY: the stream is ours; the shim writes a guard there when it succeeds.
            shim_result(unsafe { netdiv_stream_enter(stream.as_ptr(), &mut entered) })?;
        }
        Ok(StreamGuard(entered))
    }

    /// Sets the stream's mark to the end of its work so far.
    pub(crate) fn mark(&self) -> Result<(), Failure> {
        // SAFETY: the stream is ours.
        self.raw
            .map_or(Ok(()), |stream| shim_result(unsafe { netdiv_stream_mark(stream.as_ptr()) }))
    }

    /// Waits for the work up to the mark.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
        self.patience.wait(&mut Marked(self))
    }
}

/// Work of a stream up to its mark.
struct Marked<'a>(&'a Stream);

impl DeviceWork for Marked<'_> {
    fn is_done(&mut self) -> Result<bool, Failure> {
        let mut is_done = true;
        if let Some(stream) = self.0.raw {
            // SAFETY: the stream is ours.
            shim_result(unsafe { netdiv_stream_is_done(stream.as_ptr(), &mut is_done) })?;
        }
        Ok(is_done)
    }

    fn wait(&mut self) -> Result<(), Failure> {
        // SAFETY: the stream is ours.
        self.0
            .raw
            .map_or(Ok(()), |stream| shim_result(unsafe { netdiv_stream_wait(stream.as_ptr()) }))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(stream) = self.raw {
            // Rows that were begun ahead read weights that may be freed next. An error here means a
            // lost device.
            let _ = self.enter().and_then(|_entered| self.mark()).and_then(|()| self.wait());
            // SAFETY: it is ours and used no more.
            unsafe { netdiv_stream_free(stream.as_ptr()) }
        }
    }
}

/// Guard that directs this thread's work to a stream. Its pointer is not Send, which keeps the
/// guard on this thread.
pub(crate) struct StreamGuard(*mut RawOnStream);

impl Drop for StreamGuard {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: made by `enter`, on this thread.
            unsafe { netdiv_stream_leave(self.0) }
        }
    }
}
