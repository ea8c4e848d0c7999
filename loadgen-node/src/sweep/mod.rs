//! Sweeps: runs at a series of loads, over one or more sets of nodes. Their figures make the curve
//! of throughput and latency.
//!
//! Each step is an ordinary run in a folder of its own, so a sweep that was ended continues: it reads
//! the steps that have a result, and runs the others. `schedule.rs` decides which loads are tried,
//! from the results before them; `runner.rs` makes the runs.

mod ending;
mod estimate;
mod loads;
mod measure;
mod resume;
mod runner;
mod schedule;
mod settings;

pub(crate) use self::{loads::Loads, runner::run, settings::SweepArgs};
