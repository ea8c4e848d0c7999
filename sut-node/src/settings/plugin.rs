//! Settings of engine plug-ins, which run a model of tensors or a language model.

use std::{path::PathBuf, sync::Arc};

use netdiv_node_common::words::Scenario;
use serde::{Deserialize, Serialize};

use crate::model::{language::LanguageModel, manifest::Manifest};

/// Heading of the option that selects batch settings in a manifest.
const MANIFESTS: &str = "Batching of a manifest (engines: torch, a plug-in, python)";

/// Keys of plug-ins.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Plug-ins (engines: torch, a plug-in)")]
pub struct PluginArgs {
    /// Devices, as `sut-node devices` names them [default: all GPUs, or the CPU]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub devices: Option<Vec<String>>,
    /// Number of threads that decode and post-process [default: cores]
    #[arg(long, value_name = "N")]
    pub workload_threads: Option<usize>,
    /// Scenario whose batch settings are taken from the manifest
    #[arg(long, help_heading = MANIFESTS)]
    pub scenario: Option<Scenario>,
}

/// Keys of the engine `torch`.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "The plug-in torch (engines: torch)")]
pub struct TorchArgs {
    /// Folder of libtorch 2.11 [default: $LIBTORCH, else python3's torch]
    #[arg(long, value_name = "DIR")]
    pub libtorch: Option<PathBuf>,
}

/// Library that contains an engine plug-in.
#[derive(Debug, Clone, Serialize)]
#[serde(into = "String")]
pub enum PluginFile {
    /// The plug-in for libtorch, which is part of the node.
    Torch {
        /// Folder of libtorch; `None`: search for one.
        libtorch: Option<PathBuf>,
    },
    /// A user's plug-in.
    File(PathBuf),
}

impl From<PluginFile> for String {
    /// Returns `torch`, or the name of the file.
    fn from(file: PluginFile) -> Self {
        match file {
            PluginFile::Torch { libtorch: _ } => "torch".into(),
            PluginFile::File(path) => {
                path.file_name().unwrap_or_default().to_string_lossy().into_owned()
            }
        }
    }
}

/// Settings of a plug-in that runs a model of tensors.
#[derive(Debug, Clone, Serialize)]
pub struct PluginConfig {
    /// Library of the plug-in.
    #[serde(rename = "plug_in")]
    pub file: PluginFile,
    /// Names of the devices; empty: all of the plug-in's preferred kind.
    pub devices: Vec<String>,
    /// Number of host threads of an instance; `None`: an equal share of the cores.
    pub threads: Option<usize>,
    /// Number of threads that decode and post-process, over all instances.
    pub workload_threads: usize,
    /// Batch sizes, in samples. A smaller batch is filled up to the next of these sizes with zeros;
    /// empty: batches are not filled up.
    pub batch_sizes: Vec<usize>,
    /// Manifest of the model.
    #[serde(rename = "model")]
    pub manifest: Arc<Manifest>,
}

/// Settings of a plug-in that runs a language model.
#[derive(Debug, Clone, Serialize)]
pub struct TokenPluginConfig {
    /// Library of the plug-in.
    #[serde(rename = "plug_in")]
    pub file: PluginFile,
    /// Names of the devices; empty: all of the plug-in's preferred kind.
    pub devices: Vec<String>,
    /// Number of host threads of an instance; `None`: an equal share of the cores.
    pub threads: Option<usize>,
    /// Manifest of the model.
    pub model: Arc<LanguageModel>,
}
