//! Initial settings files for a benchmark. Every figure is from the table, and every key has a
//! comment. Values that the table lacks are placeholders, which the programs report when they read
//! them. The texts are in `*.j2`.

mod known;
mod render;
#[cfg(test)]
mod tests;

pub use known::{NODE, RUN, SUBMISSION, Template, USER_CONF};
pub use render::files;
