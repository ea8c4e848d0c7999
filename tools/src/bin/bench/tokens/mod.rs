//! Outputs of tokens: 1,024 tokens in, 256 out.

pub mod added_latency;
pub mod completions;
pub mod every_token;
pub mod offline;
pub mod peak;
pub mod runs;
pub mod served;
