//! Worker processes in Python, which run a user's engine.
//!
//! `process.rs` starts a worker with the sources of the package `netdiv_engine` (`sources.rs`), and
//! notices its end. Node and worker exchange messages over a socket (`message.rs`), and samples in
//! memory that they share (`memory.rs`). `start.rs` is the exchange until the worker is ready. The
//! engines in `engine/python/` do the rest.

pub(crate) mod declaration;
pub(crate) mod memory;
pub(crate) mod message;
pub(crate) mod process;
mod sources;
pub(crate) mod start;
