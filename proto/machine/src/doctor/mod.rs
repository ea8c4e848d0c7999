//! Causes that keep a machine, or the way to a node, from measuring well: what was seen, its cost, and the remedy. Nothing is
//! changed.
//!
//! - [`Facts`]: the machine and how it is set up, read from the system; [`Needs`]: what a program with its settings asks of it;
//!   [`Peer`]: a node, as it was asked over the network
//! - [`examine`]: the judgement, a file of `judge/` for each subject; [`identify`]: that of the nodes' identity alone
//! - [`Id`]: every finding that there is, with its texts in `findings.toml`; `docs/DOCTOR.md` has them as a table
//! - [`Report`]: the report of `doctor`, `probe` and `nodes`, for people and as JSON; [`ReportArgs`]: its options

mod args;
mod data;
mod facts;
mod finding;
mod id;
mod judge;
mod needs;
mod nodes;
mod remedy;
mod report;

pub use args::{ReportArgs, UnwrittenReport};
pub use data::About;
pub use facts::{Facts, Peer, PeerFacts};
pub use finding::{Draft, Finding};
pub use id::{Id, table};
pub use judge::{examine, identify};
pub use needs::{FilesNeeded, Links, MemoryNeeded, Needs};
pub use nodes::{AskedNode, SampleAnswer, SentSample};
pub use remedy::{Remedy, Severity};
pub use report::Report;
