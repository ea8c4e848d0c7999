//! Settings of plug-ins, for tensors and for tokens.

use std::{path::PathBuf, sync::Arc};

use netdiv_node_common::words::Scenario;
use serde::{Deserialize, Serialize};

use crate::model::{language::LanguageModel, manifest::Manifest};

/// Keys of plug-ins.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Plug-ins (engines: torch, a plug-in)")]
pub struct PluginArgs {
    /// Devices, as `sut-node devices` names them [default: all GPUs, or the CPU]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub devices: Option<Vec<String>>,
    /// Threads that decode and post-process [default: cores]
    #[arg(long, value_name = "N")]
    pub workload_threads: Option<usize>,
    /// Take the batch settings of this scenario from the manifest
    #[arg(long)]
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

/// The library that a plug-in is loaded from.
#[derive(Debug, Clone, Serialize)]
#[serde(into = "String")]
pub enum PluginFile {
    /// The plug-in for libtorch that comes with the node.
    Torch {
        /// Folder of libtorch; `None` searches for one.
        libtorch: Option<PathBuf>,
    },
    /// A plug-in of the user's.
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

/// A plug-in and what it runs.
#[derive(Debug, Clone, Serialize)]
pub struct PluginConfig {
    /// The plug-in.
    #[serde(rename = "plug_in")]
    pub file: PluginFile,
    /// Devices; none: all of the plug-in's preferred kind.
    pub devices: Vec<String>,
    /// Threads of one instance on the host's processors; `None`: an equal share of the cores.
    pub threads: Option<usize>,
    /// Threads that decode and post-process, of all instances together.
    pub workload_threads: usize,
    /// Batches are filled up with zeros to one of these; none: they stay as they are.
    pub batch_sizes: Vec<usize>,
    /// The model.
    #[serde(rename = "model")]
    pub manifest: Arc<Manifest>,
}

/// A plug-in and the language model that it runs.
#[derive(Debug, Clone, Serialize)]
pub struct TokenPluginConfig {
    /// The plug-in.
    #[serde(rename = "plug_in")]
    pub file: PluginFile,
    /// Devices; an empty list selects all of the plug-in's preferred kind.
    pub devices: Vec<String>,
    /// Threads of one instance on the host's processors; `None` gives it an equal share of the cores.
    pub threads: Option<usize>,
    /// The model.
    pub model: Arc<LanguageModel>,
}
