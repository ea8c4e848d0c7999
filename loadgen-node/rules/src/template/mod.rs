//! Settings files to begin with, for a benchmark: every figure from the table, a comment before every key. What no table knows is
//! a placeholder, which the programs name when they meet it.

mod files;
mod known;
mod node_toml;
mod run_toml;
mod submission_toml;
#[cfg(test)]
mod tests;
mod text;
mod user_conf;

pub use files::files;
pub use known::{NODE, RUN, SUBMISSION, Template, USER_CONF};
