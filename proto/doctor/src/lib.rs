//! What keeps a machine, or the way to a node, from measuring well: what was seen, what it costs, and what mends it. Both
//! programs have it as their command `doctor`. Nothing is changed.
//!
//! - [`Facts`]: what the machine is and how it is set up, read from the system; [`Needs`]: what a program with its settings asks
//!   of it; [`Peer`]: a node, as it was asked over the network
//! - [`examine`]: the judgement, a file of `judge/` for each subject
//! - [`Id`]: every finding that there is; `docs/DOCTOR.md` has the same as a table
//! - [`Report`]: the findings, for people and as JSON; [`DoctorArgs`]: the options that are about the report

mod args;
mod facts;
mod finding;
mod id;
mod judge;
mod needs;
mod report;

pub use args::{DoctorArgs, UnwrittenReport};
pub use facts::{Facts, Peer, PeerFacts};
pub use finding::{Finding, Remedy, Severity};
pub use id::{About, Id, table};
pub use judge::examine;
pub use needs::{FilesNeeded, Links, MemoryNeeded, Needs};
pub use report::Report;
