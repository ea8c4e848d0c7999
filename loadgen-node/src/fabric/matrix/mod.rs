//! The network between all hosts, pair by pair: this machine and each node alone, this machine and all of them at once, and
//! node to node in rounds in which no two pairs share an end.

mod calls;
pub(crate) mod figures;
pub(crate) mod measure;
mod schedule;
pub(crate) mod slow;
