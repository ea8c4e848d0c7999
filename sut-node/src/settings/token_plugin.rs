//! Settings of plug-ins that run a language model.

use std::sync::Arc;

use crate::{model::language::LanguageModel, settings::plugin_file::PluginFile};

/// A plug-in and the language model that it runs.
#[derive(Debug, Clone)]
pub struct TokenPluginConfig {
    /// The plug-in.
    pub file: PluginFile,
    /// The model.
    pub model: Arc<LanguageModel>,
    /// Devices; none: all of the plug-in's preferred kind.
    pub devices: Vec<String>,
    /// Threads of one instance on the host's processors; `None`: an equal share of the cores.
    pub threads: Option<usize>,
}
