//! The LoadGen node: official LoadGen, Query Sample Library, Query Dispatch Library, and what comes out.
//!
//! Reading order: `run.rs` is a run from settings to result; `library.rs` is the QSL; `sut.rs` joins LoadGen and
//! the QDL; `official_log.rs`, `accuracy.rs` and `result.rs` read what LoadGen wrote and say what it means.

mod accuracy;
mod args;
mod conclude;
mod error;
mod fabric;
#[cfg(feature = "in-process")]
mod in_process;
mod library;
mod network;
mod nodes;
pub mod official_log;
mod output;
mod progress;
pub mod result;
mod run;
mod sut;
mod table;
#[cfg(feature = "in-process")]
mod tax;
mod user_conf;
mod watchdog;

pub use args::RunArgs;
pub use error::RunError;
pub use fabric::{FabricArgs, fabric};
pub use network::NetworkArgs;
pub use nodes::print_nodes;
pub use run::run;
#[cfg(feature = "in-process")]
pub use tax::{TaxArgs, tax};
