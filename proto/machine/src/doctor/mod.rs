//! Findings: causes of poor measurements in a machine, or in the path to a node, each with its cost
//! and remedy. The doctor changes nothing.
//!
//! - [`Facts`]: the machine and its condition, read from the system; [`Needs`]: requirements of a
//!   program with its settings; [`Peer`]: a node, as it was asked over the network
//! - [`examine`]: judges everything, with a file of `judge/` for each subject; [`identify`]: judges
//!   only the nodes' identity
//! - [`Id`]: all findings, with their texts in `findings.toml`; `docs/generated/doctor.md` lists
//!   them as a table
//! - [`Report`]: report of `doctor`, `probe` and `nodes`, as text and as JSON; [`ReportArgs`]: its
//!   options

mod args;
mod data;
mod facts;
mod finding;
mod judge;
mod needs;
mod report;

pub use args::{ReportArgs, ReportWriteError};
pub use data::{FindingDescription, Remedy, Severity};
pub use facts::{Facts, Peer, PeerFacts};
pub use finding::{Draft, Finding, Id, table};
pub use judge::{examine, identify};
pub use needs::{FilesNeeded, LinkSelection, MemoryNeeded, Needs};
pub use report::{AskedNode, Report, SampleAnswer, SentSample};
