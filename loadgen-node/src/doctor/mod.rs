//! The machine and its nodes, as `doctor`, `probe` and `nodes` judge them before a measurement.

mod needs;
mod responses;
mod sample;
mod survey;

pub(crate) use needs::{PROGRAM, findings, needs};
pub(crate) use sample::send;
pub(crate) use survey::{nodes, peers, survey};
