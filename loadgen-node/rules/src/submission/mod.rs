//! From runs to a submission: `submission.toml` and run folders become the tree that the official checkers accept.
//!
//! `drafting/` makes the files and names what is missing in the settings; [`check`](crate::check) finds what breaks a rule in the tree
//! that was made (`make.rs`).

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
