//! Errors of plug-ins.

use std::path::{Path, PathBuf};

use crate::abi::{ABI, ENTRY};

/// An error of a plug-in, or of loading it.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The file is missing, is not a library, or lacks a symbol.
    #[error("cannot load {}: {why}", path.display())]
    Unloadable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        why: String,
    },
    /// The library is not a plug-in.
    #[error(
        "{} is not an engine plug-in: it does not export {}",
        .0.display(), ENTRY
    )]
    NotAPlugin(PathBuf),
    /// The plug-in has another ABI.
    #[error("{} has the plug-in ABI {theirs}, but this node has {}; rebuild the {}", path.display(), ABI,
        if *theirs < ABI { "plug-in" } else { "node" })]
    Abi {
        /// Path of the file.
        path: PathBuf,
        /// ABI of the plug-in.
        theirs: u32,
    },
    /// The plug-in has the same ABI, but a struct of another size.
    #[error("{}: its {what} has {theirs} bytes, but this node's has {ours}; build it with the node's netdiv_engine.h", path.display())]
    Size {
        /// Path of the file.
        path: PathBuf,
        /// Name of the struct.
        what: &'static str,
        /// Size in the plug-in, in bytes.
        theirs: u32,
        /// Size in this node, in bytes.
        ours: usize,
    },
    /// A function is missing from the table.
    #[error("{}: its `{function}` is null or returns null", path.display())]
    Missing {
        /// Path of the file.
        path: PathBuf,
        /// Name of the function.
        function: &'static str,
    },
    /// The plug-in has no functions for language models.
    #[error(
        "the plug-in {0} does not support language models: its `tokens` is null, or its ABI is 1; use another plug-in, or a serving engine \
         (docs/ENGINES.md)"
    )]
    NoTokens(String),
    /// The plug-in has no functions for models of tensors.
    #[error(
        "the plug-in {0} supports only language models; write workload = \"language-model\" and [tokens] into the manifest \
         (docs/ENGINES.md)"
    )]
    NoTensors(String),
    /// A language model violates the header.
    #[error("the plug-in {plugin} violates netdiv_engine.h: {why}")]
    Violation {
        /// Name of the plug-in.
        plugin: String,
        /// The violation.
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
    /// Fails if a struct has another size in the plug-in.
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
