//! A run before any node is asked: its settings, LoadGen's, and what they must fit.

pub(crate) mod eligibility;
pub(crate) mod expected;
mod loadgen_bounds;
pub(crate) mod loadgen_test;
pub(crate) mod machines;
mod peak_search;
pub(crate) mod test_settings;
