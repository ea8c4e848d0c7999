//! What the rules ask, one function for each: asked before a run, by the check, and where a document says it.

pub(crate) mod alike;
pub(crate) mod answers;
pub(crate) mod audit_config;
pub(crate) mod bandwidth;
pub(crate) mod data_types;
mod distinct;
pub(crate) mod ecc;
pub(crate) mod engines;
pub(crate) mod limits;
pub(crate) mod machines;
pub(crate) mod release;
pub(crate) mod samples;
pub(crate) mod settings;
pub(crate) mod stated;
pub(crate) mod suite;
pub(crate) mod sut_name;
pub(crate) mod switches;
pub(crate) mod user_conf;
