//! The LoadGen node: official LoadGen, Query Sample Library, Query Dispatch Library, and what comes out.
//!
//! Reading order: `run.rs` is a run from settings to result, `prepared.rs` what it needs; `library.rs` is the QSL;
//! `sut.rs` joins LoadGen and the QDL; `conclude.rs` and `accuracy.rs` read what LoadGen wrote and say what it means.
//! The rules themselves are a crate of their own, `netdiv-rules`.

mod accuracy;
mod args;
mod audit;
mod conclude;
mod error;
mod fabric;
mod fitness;
mod given;
#[cfg(feature = "in-process")]
mod in_process;
mod library;
mod machines;
mod network;
mod nodes;
mod output;
mod prepared;
mod progress;
mod purpose;
mod record;
mod rulebook;
mod run;
mod signals;
mod sources;
mod sut;
mod table;
#[cfg(feature = "in-process")]
mod tax;
mod test_settings;
mod watchdog;
mod witness;

pub use args::RunArgs;
pub use audit::{AuditArgs, audit};
pub use error::RunError;
pub use fabric::{FabricArgs, fabric};
pub use netdiv_rules::{official_log, result};
pub use network::NetworkArgs;
pub use nodes::print_nodes;
pub use output::say;
pub use record::{cpu_seconds, exit_code, process};
pub use rulebook::{
    BenchmarksArgs, CheckArgs, PlanArgs, SubmissionArgs, benchmarks, check, plan, submission,
};
pub use run::run;
pub use sources::SOURCES;
#[cfg(feature = "in-process")]
pub use tax::{TaxArgs, tax};
