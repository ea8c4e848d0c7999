//! Settings of the engine `onnx`, which runs a model in ONNX format.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Keys of the engine `onnx`.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Model in ONNX format (engines: onnx)")]
pub struct OnnxArgs {
    /// Conversion of the model's first output to a response [default: top1]
    #[arg(long)]
    pub postprocess: Option<Postprocess>,
}

/// Settings of the engine `onnx`, which runs a model in ONNX format.
#[derive(Debug, Clone, Serialize)]
pub struct OnnxConfig {
    /// Path of the model file; `None`: the embedded digits network.
    #[serde(skip)]
    pub model: Option<PathBuf>,
    /// Conversion of the first output to a response.
    pub postprocess: Postprocess,
    /// Number of threads of an instance.
    pub threads: usize,
}

/// Conversion of a model's first output to the response of a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Postprocess {
    /// Index of the largest element, as int32
    #[default]
    Top1,
    /// Bytes of the elements, unchanged
    None,
}
