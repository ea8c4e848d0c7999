//! Errors of plug-ins.

use std::path::{Path, PathBuf};

use crate::abi::{ABI, ENTRY};

/// An error of a plug-in, or of loading it.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum PluginError {
    /// The file is missing, is not a library, or lacks a symbol.
    #[error("cannot load {}: {why}", path.display())]
    Unloadable { path: PathBuf, why: String },
    /// The library is not a plug-in.
    #[error(
        "{} is not an engine plug-in: it does not export {}",
        .0.display(), ENTRY
    )]
    NotAPlugin(PathBuf),
    /// The plug-in has a version of the ABI that this node does not accept.
    #[error("{} has the plug-in ABI {theirs}, but this node has {}; rebuild the {}", path.display(), ABI,
        if *theirs < ABI { "plug-in" } else { "node" })]
    Abi { path: PathBuf, theirs: u32 },
    /// The node accepts the plug-in's version of the ABI, but a struct has another size in the
    /// plug-in than in the node.
    #[error("{}: its {what} has {theirs} bytes, but this node's has {ours}; build it with the node's netdiv_engine.h", path.display())]
    Size {
        path: PathBuf,
        what: &'static str,
        /// Size in the plug-in, in bytes.
        theirs: u32,
        /// Size in this node, in bytes.
        ours: usize,
    },
    /// The plug-in's table lacks a function, or the exported function returned no table.
    #[error("{}: its `{function}` is null or returns null", path.display())]
    Missing { path: PathBuf, function: &'static str },
    /// The plug-in does not support language models.
    #[error(
        "the plug-in {0} does not support language models: its `tokens` is null; use another plug-in, or a serving engine \
         (docs/ENGINES.md)"
    )]
    NoTokens(String),
    /// The plug-in supports only language models, but the model maps tensors to tensors.
    #[error(
        "the plug-in {0} supports only language models; write workload = \"language-model\" and [tokens] into the manifest \
         (docs/ENGINES.md)"
    )]
    NoTensors(String),
    /// The plug-in's results for a language model violate `netdiv_engine.h`.
    #[error("the plug-in {plugin} violates netdiv_engine.h: {why}")]
    Violation { plugin: String, why: String },
    /// The model or the device failed.
    #[error("{0}")]
    Failed(String),
    /// The device's memory is full.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The device is lost: this process cannot use it any more.
    #[error("the device is lost: {0}")]
    DeviceLost(String),
    /// The plug-in does not support the model, the device or the precision.
    #[error("{0}")]
    Refused(String),
}

impl PluginError {
    /// Fails unless the struct `what` has as many bytes in the plug-in (`theirs`) as in this node
    /// (`ours`).
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
