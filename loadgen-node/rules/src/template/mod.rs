//! Initial settings files for a benchmark. Every figure is from the table, and every key has a
//! comment. Values that the table lacks are placeholders, which the programs report when they read
//! them. The texts are in `*.j2`.

mod render;
mod template_values;
#[cfg(test)]
mod tests;

pub use render::files;
pub use template_values::{Engine, NODE, RUN, SUBMISSION, TemplateValues, USER_CONF};
