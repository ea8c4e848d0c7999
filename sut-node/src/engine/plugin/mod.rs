//! Engines in shared libraries.

pub(super) mod load;
pub(super) mod load_tokens;
pub(super) mod open;
mod run;
mod tokens;
mod waiting;
