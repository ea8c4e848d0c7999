//! What engines share that send samples to servers: `served/` and `kserve/`.
//!
//! Each sample has a task (`tasks.rs`), which asks one of the `servers.rs`, over connections that a `connector.rs` makes, and
//! waits for it on behalf of a `taker.rs`. What was refused (`refused.rs`) is tried again (`tries.rs`). An output of tokens grows
//! by its `ids.rs`, as `reading.rs` reads it.

pub(super) mod connector;
#[cfg(test)]
pub(super) mod http2_peer;
pub(super) mod ids;
pub(super) mod reading;
pub(super) mod refused;
pub(super) mod servers;
pub(super) mod taker;
pub(super) mod tasks;
#[cfg(test)]
pub(super) mod testing;
pub(super) mod tries;
