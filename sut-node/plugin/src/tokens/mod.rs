//! Language models of a plug-in: its functions, and safe wrappers around them.

mod handle;
pub(crate) mod instance;
pub(crate) mod model;
mod output;
pub(crate) mod settings;
