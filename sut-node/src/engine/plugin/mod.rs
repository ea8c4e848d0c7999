//! Engines in shared libraries.

pub(super) mod load;
pub(super) mod open;
mod run;
mod waiting;
