//! A benchmark's accuracy, computed by its official script from the log of an accuracy run.

mod child_process;
mod environment;
mod evaluate;
mod requirements;
mod stderr_lines;
mod trial;

pub(crate) use environment::Environment;
pub(crate) use evaluate::{Evaluation, evaluate};
pub(crate) use requirements::options as check_options;
pub(crate) use trial::run_trial as try_out;
