//! Engines in shared libraries.

mod batch_waiter;
pub(super) mod load;
pub(super) mod load_tokens;
pub(super) mod open;
mod run;
mod tokens;
