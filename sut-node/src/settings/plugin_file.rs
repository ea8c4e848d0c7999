//! Which plug-in runs a model.

use std::path::PathBuf;

/// Which plug-in.
#[derive(Debug, Clone)]
pub enum PluginFile {
    /// The node's own for libtorch.
    Torch {
        /// Folder of libtorch; `None`: it is looked for.
        libtorch: Option<PathBuf>,
    },
    /// Somebody's.
    File(PathBuf),
}

impl PluginFile {
    /// `torch`, or the name of the file.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Torch { libtorch: _ } => "torch".into(),
            Self::File(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }
}
