//! The Query Dispatch Library (QDL): all code on the LoadGen node that touches a query between
//! LoadGen and the network.
//!
//! It does two things, and nothing else (rules, section 6.2.1):
//!
//! - It sends a sample as the bytes that the QSL holds, in a separate message for each sample.
//! - It decompresses a response, if the node compressed it, and passes it to LoadGen.
//!
//! It never groups, pads, converts or keeps samples and responses, and never reorders their
//! contents.
//!
//! Reading order, along the life of a query:
//!
//! 1. [`Qdl::issue`] (`qdl.rs`): LoadGen's thread passes in samples. A sample that arrives alone
//!    after a pause (`io_threads.rs`) is also sent on that thread.
//! 2. `dispatch.rs`, `inbox.rs`: the choice of a lane for each sample. `lane.rs` defines
//!    connection, stream and lane.
//! 3. `sender.rs`: a lane sends the next sample when its window has room (`in_flight.rs`,
//!    `window.rs`, `slots.rs`). `token_budget.rs`: the token budget that all lanes to a node share,
//!    if the node counts tokens.
//! 4. `receiver.rs`, `replies.rs`: each reply is an event in the response to a sample. It is matched
//!    with its sample, decoded and passed to LoadGen. `tokens.rs`: consistency of the tokens of a
//!    response.
//! 5. `opening.rs`, `node.rs`, `agreement.rs`: connecting, the handshake, and the
//!    checks of a node's description. `calls.rs`, `control.rs`: calls other than the streams of
//!    samples, to one node and to all nodes.
//! 6. `run.rs`, `failure.rs`: the early end of a run. `cluster.rs`: the nodes of a run, which may
//!    continue without a lost node.

mod agreement;
mod calls;
#[cfg(test)]
#[path = "../tests/closing_peers/mod.rs"]
mod closing_peers;
mod cluster;
mod connect_error;
mod control;
mod dispatch;
mod failure;
mod histograms;
mod in_flight;
mod inbox;
mod io_threads;
mod lane;
mod loadgen;
mod node;
mod opening;
mod qdl;
mod receiver;
mod replies;
mod report;
mod run;
mod sender;
mod settings;
#[cfg(test)]
#[allow(clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "a test")]
#[path = "../tests/simulation/mod.rs"]
mod simulation;
mod slots;
mod speed;
mod token_budget;
mod tokens;
#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test")]
#[path = "../tests/unlike_nodes/mod.rs"]
mod unlike_nodes;
mod window;

pub use agreement::Expectation;
pub use connect_error::ConnectError;
pub use control::SUT_NAME_PART;
pub use dispatch::Policy;
pub use failure::{Failure, OrderViolation};
pub use loadgen::{LoadGen, LoadedSamples, SampleSource};
pub use netdiv_node_common::words::AnswerTokens;
pub use netdiv_transport::{Options, QuicPath, Transport};
pub use node::{NodeInfo, survey};
pub use qdl::Qdl;
pub use report::{AnswerTimes, Encodings, NodeReport, Progress, Stages};
pub use settings::{NetworkSettings, OnNodeLoss, OnThreadStart, Settings, TokenBounds};
pub use tokens::{TokenReport, requested_tokens};
