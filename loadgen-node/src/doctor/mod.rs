//! The machine and its nodes, as `doctor`, `probe` and `nodes` judge them before a measurement.
//!
//! - `survey.rs`: asks all nodes for their identity
//! - `sample.rs`: sends every node one sample, through the QDL and over the connections of a run,
//!   without LoadGen
//! - `responses.rs`: compares the responses
//! - `needs.rs`: what a run with its settings requires of this machine
//! - `trial.rs`: prepares a run without starting it

mod needs;
mod responses;
mod sample;
mod survey;
mod trial;

pub(crate) use needs::{PROGRAM, needs};
pub(crate) use sample::send;
pub(crate) use survey::{nodes, peers, survey};
pub(crate) use trial::findings;
