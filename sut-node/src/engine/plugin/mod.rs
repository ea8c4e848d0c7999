//! Engines in shared libraries.

mod batch_waiter;
mod load;
pub(super) mod open;
mod package;
mod run;
pub(crate) mod settings;
mod tokens;
