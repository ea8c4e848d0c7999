//! The process of a run: its signals, disk and time, and the watchdog that ends a failed run.

pub(crate) mod free_space;
pub(crate) mod interference;
pub(crate) mod signals;
pub(crate) mod watchdog;
