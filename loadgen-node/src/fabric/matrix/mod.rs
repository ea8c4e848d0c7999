//! Network between all hosts, pair by pair: this machine with each node alone, this machine with
//! all nodes at once, and node to node in rounds. No two pairs of a round share an end.

mod calls;
pub(crate) mod figures;
pub(crate) mod measure;
pub(crate) mod slow;
