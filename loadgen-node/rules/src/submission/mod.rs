//! Submissions from runs: `submission.toml` and run folders become the tree that the official
//! checkers accept.
//!
//! `drafting/` creates the files and reports what is missing in the settings;
//! [`check`](crate::check) reports broken rules in that tree (`make.rs`).

mod make;
mod refusals;
#[cfg(test)]
mod tests;

pub use make::{Made, MakeError, Strictness, make};

pub use crate::{
    drafting::{
        folder::Tree,
        gap::Gap,
        submission_toml::{
            Architecture, Link, Power, ResultSettings, Retrained, Retraining, Settings, Status,
            Switch, Topology,
        },
    },
    sources_digest::{Source, sources_sha256},
    sources_named::missing_sources,
};
