//! The rules of the Network division as code (MLPerf Inference rules v5.0, section 6.2).
//!
//! No sockets and no LoadGen here: what a run was is read from its files.
//!
//! - [`benchmarks`]: every benchmark as data, each figure with its section
//! - [`policy`]: what a run may not choose, before it starts
//! - [`statistics`], [`plan`]: how many queries, how long, what bandwidth
//! - [`user_conf`]: LoadGen's settings file, before LoadGen reads it
//! - [`official_log`]: LoadGen's own logs, read back; [`result`]: what `result.json` holds
//! - [`compliance`]: TEST01, TEST04 and TEST06
//! - [`check`]: the MUSTs N1 to N38, one by one, over a run or a submission
//! - [`submission`]: from runs to a submission; [`tree`]: where everything lies in one

pub mod benchmarks;
pub mod check;
pub mod compliance;
pub mod official_log;
pub mod plan;
pub mod policy;
pub mod result;
pub mod statistics;
pub mod submission;
pub mod tree;
pub mod user_conf;

mod finding;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
pub(crate) mod fixture;
mod grouped;
mod placeholder;
mod regular;
mod scenario;

pub use finding::{Finding, Outcome, Rule};
pub use grouped::Grouped;
pub use scenario::Scenario;
