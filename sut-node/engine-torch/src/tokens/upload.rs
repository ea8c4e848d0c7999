//! Numbers for the device, which all go there at once: each copy waits for the device.

use std::ops::Range;

use tch::{Device, Tensor};

use crate::failure::Failure;

#[derive(Default)]
pub(super) struct Upload(Vec<i64>);

impl Upload {
    /// Adds numbers; returns where they lie.
    pub(super) fn add(&mut self, numbers: impl Iterator<Item = i64>) -> Range<usize> {
        let start = self.0.len();
        self.0.extend(numbers);
        start..self.0.len()
    }

    pub(super) fn send(self, device: Device) -> Result<Sent, Failure> {
        Ok(Sent(Tensor::f_from_slice(&self.0)?.f_to_device(device)?))
    }
}

/// The numbers on the device.
pub(super) struct Sent(Tensor);

impl Sent {
    pub(super) fn get(&self, place: Range<usize>) -> Result<Tensor, Failure> {
        Ok(self.0.f_narrow(0, place.start as i64, place.len() as i64)?)
    }
}
