//! From runs to a submission: `submission.toml` and run folders become the tree that the official checkers accept.
//!
//! `draft.rs` makes the documents and says what has to be mended in the settings; what breaks a rule, [`check`](crate::check)
//! finds in the tree that was made (`make.rs`). The same inputs make the same bytes.

mod architecture;
mod audits;
pub(crate) mod bandwidth_document;
mod diagram;
pub(crate) mod documents;
mod draft;
mod drawing;
mod folder;
mod gap;
mod graph;
mod layout;
mod make;
mod make_accuracy_txt;
mod make_user_conf;
mod measurements;
pub(crate) mod papers;
mod parts;
mod power;
mod problems;
mod refusals;
mod results;
mod runs;
mod shapes;
pub(crate) mod sources;
mod submission_toml;
mod svg;
mod systems;
#[cfg(test)]
mod tests;
mod topology;

use crate::derived::{cluster, markdown};
pub use folder::Tree;
pub use gap::Gap;
pub use make::{Made, MakeError, Strictness, make};
pub use submission_toml::{
    Architecture, Link, Power, ResultSettings, Retrained, Retraining, Settings, Status, Switch,
    Topology,
};
pub(crate) use systems::is_said_elsewhere;

pub use crate::{
    sources_digest::{Source, sources_sha256},
    sources_named::missing_sources,
};
