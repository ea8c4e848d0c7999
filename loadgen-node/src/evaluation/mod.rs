//! A benchmark's accuracy, computed by its official script from the log of an accuracy run.

mod child_process;
mod environment;
mod evaluate;
mod requirements;

pub(crate) use environment::Environment;
pub(crate) use evaluate::evaluate;
pub(crate) use requirements::{options as check_options, run_trial as try_out};
