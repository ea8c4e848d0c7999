//! What keeps this machine, or the way to a node, from measuring well, as `loadgen-node doctor` sees it.
//!
//! - `needs.rs`: what a run with its settings asks of this machine
//! - `peers.rs`: the nodes, asked over the network
//! - `trial.rs`: whether a run would begin

mod needs;
mod peers;
mod trial;

pub(crate) use needs::needs;
pub(crate) use peers::peers;
pub(crate) use trial::findings;
