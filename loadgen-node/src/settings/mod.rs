//! Settings: the options of the command line, the keys of the settings file, and the run that they
//! resolve to.

mod bounds;
mod network;
mod resolve;
mod run_args;
mod run_config;

pub(crate) use bounds::{bytes, time, usage, within};
pub(crate) use network::DnsNames;
pub use network::NetworkArgs;
pub(crate) use run_args::QdlArgs;
pub use run_args::{RunArgs, TableArgs};
pub use run_config::RunConfig;
pub(crate) use run_config::Target;
