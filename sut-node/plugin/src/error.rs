//! Why a plug-in could not be used.

use std::path::{Path, PathBuf};

use crate::abi::{ABI, ENTRY};

/// An error of a plug-in, or of loading it.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The file is missing, is not a library, or lacks a symbol.
    #[error("cannot load {}: {why}", path.display())]
    Unloadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// The library is not a plug-in.
    #[error(
        "{} is not an engine plug-in: it does not export {}",
        .0.display(), ENTRY
    )]
    NotAPlugin(PathBuf),
    /// The plug-in has another ABI.
    #[error("{} has the plug-in ABI {theirs}, this node has {}; build the {} again", path.display(), ABI,
        if *theirs < ABI { "plug-in" } else { "node" })]
    Abi {
        /// The file.
        path: PathBuf,
        /// Its ABI.
        theirs: u32,
    },
    /// The plug-in has the same ABI, but a struct of another size.
    #[error("{}: its {what} has {theirs} bytes, this node's has {ours}; build it with the node's netdiv_engine.h", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Which struct.
        what: &'static str,
        /// Bytes there.
        theirs: u32,
        /// Bytes here.
        ours: usize,
    },
    /// A function is missing from the table.
    #[error("{}: its `{function}` is null or gives null", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// Name of the function.
        function: &'static str,
    },
    /// It has no functions for language models.
    #[error(
        "the plug-in {0} runs no language models: its `tokens` is null, or its ABI is 1; take one that does, or a serving engine \
         (docs/ENGINES.md)"
    )]
    NoTokens(String),
    /// It has no functions for models of tensors.
    #[error(
        "the plug-in {0} runs language models alone; write workload = \"language-model\" and [tokens] into the manifest \
         (docs/MODELS.md)"
    )]
    NoTensors(String),
    /// A language model gave what the header does not allow.
    #[error("the plug-in {plugin} does not keep to netdiv_engine.h: {why}")]
    Breach {
        /// Its name.
        plugin: String,
        /// What it gave.
        why: String,
    },
    /// The model or the device failed.
    #[error("{0}")]
    Failed(String),
    /// The device's memory is full.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The device is lost to this process.
    #[error("the device is lost: {0}")]
    DeviceLost(String),
    /// The plug-in does not support the model, the device or the precision.
    #[error("{0}")]
    Refused(String),
}

impl PluginError {
    /// Refuses a struct that has another size in the plug-in.
    pub(crate) fn compare_size(
        path: &Path,
        what: &'static str,
        theirs: u32,
        ours: usize,
    ) -> Result<(), Self> {
        if theirs as usize == ours {
            Ok(())
        } else {
            Err(Self::Size { path: path.into(), what, theirs, ours })
        }
    }
}
