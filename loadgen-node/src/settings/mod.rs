//! Settings: the keys of command line and settings file, and the run that they resolve to, once.

mod bounds;
mod demo;
mod discovery;
mod network;
mod recorded;
mod resolve;
mod run_args;
mod run_config;
mod table;

pub(crate) use bounds::{at_least_one, usage, within};
pub use discovery::DiscoveryArgs;
pub use network::NetworkArgs;
pub use run_args::RunArgs;
pub use run_config::RunConfig;
pub(crate) use run_config::Target;
pub use table::TableArgs;
