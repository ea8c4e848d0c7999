//! Language models of a plug-in: its functions, and safe wrappers around them.

pub(crate) mod handle;
pub(crate) mod instance;
pub(crate) mod model;
mod output;
