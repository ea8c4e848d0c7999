//! The Query Dispatch Library: all that touches a query on the LoadGen node between LoadGen and the network.
//!
//! What it does to a sample is send it, as the bytes the QSL holds, in a message of its own. What it does to a
//! response is decompress it, if the node compressed it, and hand it to LoadGen. It never groups, pads,
//! converts, reorders the contents of, or keeps either (rules, section 6.2.1).
//!
//! Reading order, along the life of a query:
//!
//! 1. [`Qdl::issue`] (`qdl.rs`): LoadGen's thread hands over samples; `pace.rs`: one that is alone it also sends.
//! 2. `dispatch.rs`, `inbox.rs`: which lane gets which sample. `lane.rs` says what a connection, a stream and a lane are.
//! 3. `outgoing.rs`: a lane sends the next sample when its window has room; `in_flight.rs`, `window.rs`, `slots.rs`.
//!    `token_room.rs`: what all lanes to a node share, where it counts tokens.
//! 4. `incoming.rs`, `event.rs`, `replies.rs`: replies are events, which are matched, decoded and given to LoadGen;
//!    `deadlines.rs`: answers that do not come.
//!    `tokens.rs`: whether the tokens of an answer fit together.
//! 5. `opening.rs`, `node.rs`, `agreement.rs`, `capacity.rs`: connecting, the handshake, and what a node says of itself;
//!    `calls.rs`, `control.rs`: calls beside the streams, to one node and to all.
//! 6. `run.rs`, `failure.rs`: how a run ends early; `cluster.rs`: how it may go on without a node.

mod agreement;
mod calls;
mod capacity;
#[cfg(test)]
mod closing_peers;
mod cluster;
mod connect_error;
mod control;
mod deadlines;
mod dispatch;
mod event;
mod failure;
mod histograms;
mod in_flight;
mod inbox;
mod incoming;
mod io_threads;
mod lane;
mod loadgen;
mod node;
mod opening;
mod outgoing;
mod pace;
mod qdl;
mod replies;
mod report;
mod run;
mod settings;
#[cfg(test)]
#[allow(clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "a test")]
#[path = "../tests/simulation/mod.rs"]
mod simulation;
mod slots;
mod token_room;
mod tokens;
#[cfg(test)]
mod wakes;
mod window;

pub use agreement::Expectation;
pub use connect_error::ConnectError;
pub use control::SUT_NAME_PART;
pub use dispatch::Policy;
pub use failure::Failure;
pub use loadgen::{LoadGen, LoadedSamples, SampleSource};
pub use netdiv_node_common::words::AnswerTokens;
pub use netdiv_transport::{Options, QuicPath, Transport};
pub use node::{NodeInfo, survey};
pub use qdl::Qdl;
pub use report::{AnswerTimes, Encodings, NodeReport, Progress, Stages};
pub use settings::{NetworkSettings, OnNodeLoss, OnThreadStart, Settings, TokenBounds};
pub use tokens::{TokenReport, asked_for};
