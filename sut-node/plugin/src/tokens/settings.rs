//! What a plug-in is told of a language model.

use std::path::PathBuf;

use crate::precision::Precision;

/// Settings of a language model.
#[derive(Debug, Clone)]
pub struct TokenSettings {
    /// The model file.
    pub path: PathBuf,
    /// A device's name.
    pub device: String,
    /// Type of the weights.
    pub precision: Precision,
    /// Host threads that one instance may use.
    pub threads: usize,
    /// Number of token ids, which are 0 and up.
    pub vocabulary: u32,
    /// Most ids of a prompt.
    pub longest_prompt: u32,
    /// Most ids of an output.
    pub longest_output: u32,
    /// Samples that an instance has under way at the same time, at most.
    pub slots: u32,
    /// Ids of prompts that one step computes at most.
    pub chunk: u32,
    /// Bytes for keys and values of one instance; 0: what the slots need.
    pub cache_bytes: u64,
    /// Width of the search; 1: greedy.
    pub beams: u32,
    /// Ids that end an output and are part of it.
    pub ends: Vec<i32>,
}
