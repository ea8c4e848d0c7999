//! The process: the servers, how the node is, and what it says of itself.

pub(crate) mod condition;
pub(crate) mod evidence;
pub(crate) mod health;
pub(crate) mod metrics;
mod observe;
pub(crate) mod ready_file;
pub(crate) mod server;
mod service_manager;
pub(crate) mod sockets;
pub(crate) mod watchdog;
