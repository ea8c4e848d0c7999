//! Transfer of numbers to a device and back. All numbers of a step are sent at once. For a CUDA
//! device they are in pinned memory, so that no thread waits for a copy.

use std::ops::Range;

use tch::{Device, Kind, Tensor};

use crate::{failure::Failure, pipeline, stream::Stream};

/// Numbers of a step that are sent to the device together.
#[derive(Default)]
pub(super) struct Upload(Vec<i64>);

impl Upload {
    /// Adds numbers. Returns their range in the upload, which begins at a multiple of 16 bytes, as a
    /// package's kernels for GPUs expect.
    pub(super) fn add(&mut self, numbers: impl IntoIterator<Item = i64>) -> Range<usize> {
        self.0.resize(self.0.len().next_multiple_of(2), 0);
        let start = self.0.len();
        self.0.extend(numbers);
        start..self.0.len()
    }
}

/// Numbers of an [`Upload`] on the device.
pub(super) struct Sent(Tensor);

impl Sent {
    pub(super) fn get(&self, place: Range<usize>) -> Result<Tensor, Failure> {
        Ok(self.0.f_narrow(0, place.start as i64, place.len() as i64)?)
    }
}

/// Copies an instance's numbers to the device and back, through memory of the host.
pub(super) struct Exchange {
    device: Device,
    up: Pinned,
    down: Pinned,
}

impl Exchange {
    pub(super) fn new(device: Device) -> Self {
        Self { device, up: Pinned::default(), down: Pinned::default() }
    }

    /// Sends numbers on this thread's current stream. First waits until `stream` has sent the
    /// previous numbers, because their memory on the host is reused.
    pub(super) fn send(&mut self, upload: &Upload, stream: &Stream) -> Result<Sent, Failure> {
        let numbers = Tensor::f_from_slice(&upload.0)?;
        if !self.device.is_cuda() {
            return Ok(Sent(numbers));
        }
        stream.wait()?;
        let mut host = self.up.room(upload.0.len())?;
        host.f_copy_(&numbers)?;
        let mut sent = Tensor::f_empty(numbers.size(), (Kind::Int64, self.device))?;
        pipeline::copy(&mut sent, &host)?;
        Ok(Sent(sent))
    }

    /// Fetches int64 numbers on this thread's current stream. The result is valid once the stream's
    /// work is done.
    pub(super) fn fetch(&mut self, numbers: &Tensor) -> Result<Tensor, Failure> {
        if !self.device.is_cuda() {
            return Ok(numbers.shallow_clone());
        }
        let mut host = self.down.room(numbers.numel())?;
        pipeline::copy(&mut host, numbers)?;
        Ok(host)
    }
}

/// Memory that the device reads and writes directly. It grows to the maximum size requested so far.
#[derive(Default)]
struct Pinned(Option<Tensor>);

impl Pinned {
    /// Returns memory for `count` int64 numbers. The next call reuses it.
    fn room(&mut self, count: usize) -> Result<Tensor, Failure> {
        let memory = match self.0.take() {
            Some(memory) if memory.numel() >= count => memory,
            _ => pipeline::pinned((count.next_power_of_two() * size_of::<i64>()) as i64)?
                .f_view_dtype(Kind::Int64)?,
        };
        let room = memory.f_narrow(0, 0, count as i64)?;
        self.0 = Some(memory);
        Ok(room)
    }
}
