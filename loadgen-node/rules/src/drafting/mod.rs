//! Draft of a submission: `submission.toml` and run folders become the files of a tree. Equal
//! inputs yield equal bytes.

mod architecture;
mod audits;
mod cluster;
mod description;
mod diagram;
pub(crate) mod documents;
pub(crate) mod draft;
pub(crate) mod folder;
pub(crate) mod gap;
mod make_accuracy_txt;
mod markdown;
mod named_files;
mod result_files;
pub(crate) mod results;
mod runs;
pub(crate) mod sources;
pub(crate) mod submission_toml;
pub(crate) mod systems;
mod topology;
mod tree_builder;
