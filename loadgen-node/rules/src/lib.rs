//! The rules of the Network division as code (MLPerf Inference rules v5.0, section 6.2).
//!
//! This crate has no sockets and no LoadGen: it reads runs from their files.
//!
//! - [`book`]: the rule book as data: benchmarks with the section of each figure, rounds, LoadGen's
//!   releases
//! - [`eligibility`]: rules that a run breaks, before it begins and when it is over
//! - [`statistics`], [`plan`]: numbers of queries, durations, memory and bandwidth of a run
//! - [`user_conf`]: check of LoadGen's settings file, before LoadGen reads it
//! - [`official_log`]: readers of LoadGen's own logs; `facts`: these and the other readers, one for
//!   each kind of file
//! - [`record`]: the schema of `result.json`
//! - `rules`: one file for each of N1 to N38; `judge`: judgements that several of them share
//! - [`compliance`]: TEST01, TEST04 and TEST06
//! - [`check`]: judges all rules for a run or a submission
//! - [`submission`]: makes a submission from runs; [`tree`]: the paths in a submission;
//!   [`template`]: initial settings files

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

pub mod book;
pub mod check;
pub mod compliance;
pub mod eligibility;
pub mod plan;
pub mod record;
pub mod statistics;
pub mod submission;
pub mod template;
pub mod tree;
pub mod user_conf;

mod drafting;
mod facts;
mod finding;
#[cfg(test)]
#[path = "../tests/fixture/mod.rs"]
pub(crate) mod fixture;
mod grouping;
mod input;
mod judge;
mod placeholder;
mod rules;
mod subject;

pub use facts::official_log;
pub use finding::{Finding, Outcome, Rule};
pub use grouping::GroupedFinding;
pub use netdiv_node_common::words::{Division, Mode, Scenario};

// Unit tests use the tests' submissions, too.
#[cfg(test)]
extern crate self as netdiv_rules;

/// Parts of submissions, for the tests that make and edit them.
#[doc(hidden)]
pub mod testing {
    pub use crate::{
        drafting::sources::{SourceFile, sources_sha256},
        grouping::lines,
        input::files::sha256_of,
    };
}
