//! The engines of a node that send prompts to a serving engine.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// What is asked, and how.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum, Display, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ServedEngine {
    /// Any, over HTTP
    Openai,
    /// vLLM, over gRPC
    VllmGrpc,
    /// SGLang, over gRPC
    SglangGrpc,
    /// TensorRT-LLM, over gRPC
    TrtllmGrpc,
}
