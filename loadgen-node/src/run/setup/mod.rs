//! A run before LoadGen starts: its settings, LoadGen's settings, and the machines that they must
//! fit.

pub(crate) mod latency_bounds;
pub(crate) mod length_estimate;
mod loadgen_bounds;
pub(crate) mod loadgen_test;
pub(crate) mod machines;
mod peak_search;
mod preparation;
pub(crate) mod test_settings;
