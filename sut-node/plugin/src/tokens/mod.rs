//! Language models of a plug-in: its functions, and what makes them safe to call.

mod handle;
pub(crate) mod instance;
pub(crate) mod model;
mod output;
pub(crate) mod settings;
