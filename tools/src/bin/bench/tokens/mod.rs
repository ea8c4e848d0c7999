//! Outputs of tokens: 1,024 tokens in, 256 out.

pub mod added;
pub mod completions;
pub mod every;
pub mod offline;
pub mod peak;
mod prompts;
mod runs;
pub mod served;
