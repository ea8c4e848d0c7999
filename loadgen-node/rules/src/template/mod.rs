//! Settings files to begin with, for a benchmark: every figure from the table, a comment before every key. What no table knows is
//! a placeholder, which the programs name when they meet it. The files' texts are those of `*.j2`.

mod known;
mod render;
#[cfg(test)]
mod tests;

pub use known::{NODE, RUN, SUBMISSION, Template, USER_CONF};
pub use render::files;
