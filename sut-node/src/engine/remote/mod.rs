//! Shared parts of the engines that send samples to servers: `served/` and `kserve/`.
//!
//! Each sample has a task (`tasks.rs`). The task sends the sample to one of the servers
//! (`servers.rs`, `server_settings.rs`), which the node waits for at its start (`start.rs`), over
//! connections that `connector.rs` opens, as far as the machine has room for them
//! (`connection_limits.rs`). It waits for a response only while a client waits for the tokens
//! (`token_receiver.rs`). Refused requests are retried (`refusal.rs`). `reading.rs` reads an output
//! of tokens, and checks their ids.

pub(super) mod connection_limits;
pub(super) mod connector;
#[cfg(test)]
pub(super) mod http2_peer;
pub(super) mod reading;
pub(super) mod refusal;
pub(crate) mod server_settings;
pub(super) mod servers;
pub(super) mod start;
pub(super) mod tasks;
#[cfg(test)]
pub(super) mod testing;
pub(super) mod token_receiver;
