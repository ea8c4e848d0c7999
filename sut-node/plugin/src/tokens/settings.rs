//! Settings with which a plug-in loads a language model.

use std::path::PathBuf;

use crate::precision::Precision;

/// Settings with which a plug-in loads a language model.
#[derive(Debug, Clone)]
pub struct PluginTokenSettings {
    /// Path of the model file.
    pub path: PathBuf,
    /// Name of the device to load the model onto.
    pub device: String,
    /// Type of the weights.
    pub precision: Precision,
    /// Maximum number of host threads that an instance may use.
    pub threads: usize,
    /// Number of token ids, which start at 0.
    pub vocabulary: u32,
    /// Maximum number of ids of a prompt.
    pub longest_prompt: u32,
    /// Maximum number of ids of an output.
    pub longest_output: u32,
    /// Maximum number of samples in flight in an instance.
    pub slots: u32,
    /// Maximum number of prompt ids that a step computes.
    pub chunk: u32,
    /// Memory for the keys and values of an instance, in bytes; 0: as much as the slots need.
    pub cache_bytes: u64,
    /// Number of beams of the beam search; 1: greedy search.
    pub beams: u32,
    /// Ids that end an output and are part of it.
    pub ends: Vec<i32>,
}
