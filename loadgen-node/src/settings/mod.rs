//! Settings: the options of the command line, the keys of the settings file, and the run that they
//! resolve to.

mod bounds;
mod discovery;
mod network;
mod qdl_args;
mod recorded_settings;
mod resolve;
mod run_args;
mod run_config;
mod table;

pub(crate) use bounds::{bytes, time, usage, within};
pub use discovery::DiscoveryArgs;
pub(crate) use discovery::DnsNames;
pub use network::NetworkArgs;
pub(crate) use qdl_args::QdlArgs;
pub use run_args::{ObserveArgs, RunArgs};
pub use run_config::RunConfig;
pub(crate) use run_config::Target;
pub use table::TableArgs;
