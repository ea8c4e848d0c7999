//! One sample to every node, twice, and its answer, before a run is spent on them: through the QDL and over the connections of a
//! run, without LoadGen.
//!
//! - `ask.rs`: asks the nodes
//! - `findings.rs`: what they answered, as it is written in JSON

mod ask;
mod findings;

pub(crate) use ask::ask;
pub(crate) use findings::{Answered, Findings, Probed};
