//! Submissions from runs: `submission.toml` and run folders become the tree that the official
//! checkers accept.
//!
//! `drafting/` creates the files and reports what is missing in the settings;
//! [`check`](crate::check) reports broken rules in that tree (`make.rs`).

mod make;
mod refusals;
#[cfg(test)]
mod tests;

pub use make::{MakeError, NewSubmission, Strictness, make};

pub use crate::drafting::{
    folder::FileTree,
    gap::Gap,
    sources::{SourceFile, sources_sha256},
    submission_toml::{
        Architecture, LinkSettings, Power, ResultSettings, Retrained, Retraining, Status,
        SubmissionSettings, SwitchSettings, Topology,
    },
};
