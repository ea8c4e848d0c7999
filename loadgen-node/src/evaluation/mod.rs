//! A benchmark's accuracy, computed by its official script from the log of an accuracy run.

mod complaints;
mod end_with_us;
mod environment;
mod evaluate;
mod missing;
mod trial;

pub(crate) use environment::Environment;
pub(crate) use evaluate::{Evaluation, evaluate};
pub(crate) use missing::options as check_options;
pub(crate) use trial::run as try_out;
