//! The foundation of all other modules: time, metrics, errors, and the condition of the node.

pub(crate) mod background;
pub(crate) mod clock;
pub(crate) mod condition;
pub(crate) mod engine_activity;
pub(crate) mod error;
pub(crate) mod metrics;
pub(crate) mod range;
pub(crate) mod serialized;
