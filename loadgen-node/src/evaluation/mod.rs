//! A benchmark's accuracy as its official script computes it, from the log of an accuracy run.

mod end_with_us;
mod environment;
mod evaluate;
mod missing;

pub(crate) use environment::Environment;
pub(crate) use evaluate::{Evaluation, evaluate};
pub(crate) use missing::options as check_options;
