//! The process: its servers, sockets and files, and the watchdog over its engines.

pub(crate) mod error;
pub(crate) mod health;
mod observation;
pub(crate) mod ready_file;
pub(crate) mod server;
pub(crate) mod sockets;
pub(crate) mod watchdog;
