//! Prompts as samples.

use bytes::Bytes;
use netdiv_contract::{
    layout::{self, DataType, TensorView},
    tokens,
};

/// Number of tokens of a prompt.
pub const PROMPT: usize = 1024;

/// Number of token ids: one more than the largest id.
pub const VOCABULARY: usize = 32_000;

/// Returns the ids of a prompt, different for each prompt.
pub fn ids(number: usize) -> Vec<i32> {
    (0..PROMPT).map(|place| ((number * 7919 + place * 31) % VOCABULARY) as i32).collect()
}

/// Returns this number of prompts.
pub fn prompts(count: usize) -> Vec<Bytes> {
    let prompt = |number| {
        let ids = tokens::to_bytes(&ids(number));
        let tensor = TensorView { data_type: DataType::Int32, shape: vec![PROMPT], data: &ids };
        layout::pack(&[tensor])
    };
    (0..count).map(prompt).collect()
}
