//! The machine and its nodes, as `doctor`, `probe` and `nodes` judge them before they are measured.
//!
//! - `survey.rs`: asks all nodes who they are
//! - `sample.rs`: sends every node one sample, through the QDL and over the connections of a run, without LoadGen; `answers.rs`:
//!   compares the answers
//! - `needs.rs`: what a run with its settings requires of this machine
//! - `trial.rs`: a run, up to the point where it would begin

mod answers;
mod needs;
mod sample;
mod survey;
mod trial;

pub(crate) use needs::{PROGRAM, needs};
pub(crate) use sample::send;
pub(crate) use survey::{nodes, peers, survey};
pub(crate) use trial::findings;
