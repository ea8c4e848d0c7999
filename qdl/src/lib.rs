//! The Query Dispatch Library: all that touches a query on the LoadGen node between LoadGen and the network.
//!
//! What it does to a sample is send it, as the bytes the QSL holds, in a message of its own. What it does to a
//! response is decompress it, if the node compressed it, and hand it to LoadGen. It never groups, pads,
//! converts, reorders the contents of, or keeps either (rules, section 6.2.1).
//!
//! Reading order, along the life of a query:
//!
//! 1. [`Qdl::issue`] (`qdl.rs`): LoadGen's thread hands over samples.
//! 2. `dispatch.rs`, `inbox.rs`: which connection gets which sample.
//! 3. `outgoing.rs`: a connection takes the next sample when its window has room; `window.rs`, `slots.rs`.
//! 4. `incoming.rs`: replies are matched, decoded and given to LoadGen.
//! 5. `opening.rs`, `node.rs`: connecting, the handshake, and what a node says of itself.
//! 6. `run.rs`, `failure.rs`: how a run ends early; `cluster.rs`: how it may go on without a node.

mod cluster;
mod connect_error;
mod dispatch;
mod failure;
mod inbox;
mod incoming;
mod io_threads;
mod lane;
mod node;
mod opening;
mod outgoing;
mod qdl;
mod report;
mod run;
mod settings;
#[cfg(test)]
#[allow(clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "a test")]
mod simulation;
mod slots;
mod window;

use std::sync::Arc;

use bytes::Bytes;
use netdiv_proto::encoding::Encoded;

pub use connect_error::ConnectError;
pub use dispatch::Policy;
pub use failure::Failure;
pub use netdiv_transport::{Options, Transport};
pub use node::{Expectation, NodeInfo, survey};
pub use qdl::{Qdl, SUT_NAME_PART};
pub use report::{NodeReport, Progress, Stages};
pub use settings::{NetworkSettings, OnNodeLoss, OnThreadStart, Settings};

/// The samples of a QSL by index, as it encoded them; `None` where one is not loaded. Payloads are shared, not copied.
pub type LoadedSamples = Arc<[Option<Encoded>]>;

/// The QSL, as seen from the QDL.
pub trait SampleSource: Send + Sync + 'static {
    /// What is loaded now. Asked once for many samples.
    fn loaded(&self) -> LoadedSamples;
}

/// LoadGen, as seen from the QDL.
pub trait LoadGen: Send + Sync + 'static {
    /// The right to answer one sample, once. It never leaves this process.
    type Ticket: Send + Unpin + 'static;

    /// Answers samples, each ticket with the payload in its place, and empties the list of tickets. Only
    /// long-lived threads call it.
    fn complete(&self, tickets: &mut Vec<Self::Ticket>, payloads: &[Bytes]);
}

/// Locks a mutex whose holder may have panicked: a panic has already failed the run, and what the lock guards
/// is only counted afterwards.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
