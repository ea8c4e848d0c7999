//! Settings of the engine `onnx`.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Keys of the engine `onnx`.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Model in ONNX format (engines: onnx)")]
pub struct OnnxArgs {
    /// Value that the model's first output becomes [default: top1]
    #[arg(long)]
    pub postprocess: Option<Postprocess>,
}

/// Settings of the engine `onnx`.
#[derive(Debug, Clone, Serialize)]
pub struct OnnxConfig {
    /// The model file; `None`: the embedded digits network.
    #[serde(skip)]
    pub model: Option<PathBuf>,
    /// Value that the output becomes.
    pub postprocess: Postprocess,
    /// Threads of one instance.
    pub threads: usize,
}

/// Value that a model's first output becomes, for each sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Postprocess {
    /// The place of the largest element, as int32
    #[default]
    Top1,
    /// The elements' bytes, as they are
    None,
}
