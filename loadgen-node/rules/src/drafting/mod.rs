//! Draft of a submission: `submission.toml` and run folders become the files of a tree. Equal
//! inputs yield equal bytes.

mod architecture;
mod audits;
pub(crate) mod bandwidth_document;
mod diagram;
pub(crate) mod documents;
pub(crate) mod draft;
pub(crate) mod folder;
pub(crate) mod gap;
mod graph;
pub(crate) mod machine_documents;
mod make_accuracy_txt;
mod make_user_conf;
mod measurements;
mod power;
mod problems;
mod results;
mod runs;
pub(crate) mod sources;
pub(crate) mod submission_toml;
pub(crate) mod systems;
mod topology;
mod tree_builder;

use crate::derived::{cluster, markdown};
