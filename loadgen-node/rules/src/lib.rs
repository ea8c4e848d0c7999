//! The rules of the Network division as code (MLPerf Inference rules v5.0, section 6.2).
//!
//! This crate has no sockets and no LoadGen: it reads runs from their files. docs/ARCHITECTURE.md
//! describes its folders.

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
