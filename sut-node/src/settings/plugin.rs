//! Plug-ins, and settings of those that run a language model.

use std::{path::PathBuf, sync::Arc};

use crate::model::language::LanguageModel;

/// The library that a plug-in is loaded from.
#[derive(Debug, Clone)]
pub enum PluginFile {
    /// The plug-in for libtorch that comes with the node.
    Torch {
        /// Folder of libtorch; `None` searches for one.
        libtorch: Option<PathBuf>,
    },
    /// A plug-in of the user's.
    File(PathBuf),
}

impl PluginFile {
    /// Returns `torch`, or the name of the file.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Torch { libtorch: _ } => "torch".into(),
            Self::File(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }
}

/// A plug-in and the language model that it runs.
#[derive(Debug, Clone)]
pub struct TokenPluginConfig {
    /// The plug-in.
    pub file: PluginFile,
    /// The model.
    pub model: Arc<LanguageModel>,
    /// Devices; an empty list selects all of the plug-in's preferred kind.
    pub devices: Vec<String>,
    /// Threads of one instance on the host's processors; `None` gives it an equal share of the cores.
    pub threads: Option<usize>,
}
