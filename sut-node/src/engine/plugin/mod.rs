//! Engines in shared libraries.

mod batch_waiter;
mod load;
mod load_tokens;
pub(super) mod open;
mod run;
pub(crate) mod settings;
mod tokens;
