//! A benchmark's accuracy as its official script computes it, from the log of an accuracy run.

mod environment;
mod evaluate;
mod missing;

pub(crate) use environment::Environment;
pub(crate) use evaluate::{Evaluation, evaluate};
