//! Errors of plug-ins.

use std::path::PathBuf;

/// An error of a plug-in, or of loading it.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum PluginError {
    /// The file is missing, is not a library, or lacks a symbol.
    #[error("cannot load {}: {why}", path.display())]
    Unloadable { path: PathBuf, why: String },
    /// The model or the device failed, or the plug-in violates `netdiv_engine.h`.
    #[error("{0}")]
    Failed(String),
    /// The device's memory is full.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The device is lost: this process cannot use it any more.
    #[error("the device is lost: {0}")]
    DeviceLost(String),
    /// The plug-in does not support this node, the model, the device or the precision.
    #[error("{0}")]
    Refused(String),
}
