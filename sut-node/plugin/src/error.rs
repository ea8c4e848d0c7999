//! Why a plug-in could not be used.

use std::path::PathBuf;

/// What a plug-in, or loading one, can say.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// Not a library, not there, or it lacks something.
    #[error("cannot load {}: {why}", path.display())]
    Unloadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// A library that is no plug-in.
    #[error(
        "{} is not an engine plug-in: it does not export {}",
        .0.display(), crate::abi::ENTRY
    )]
    NotAPlugin(PathBuf),
    /// Written for another ABI.
    #[error("{} has the plug-in ABI {theirs}, this node has {}; build the {} again", path.display(), crate::abi::ABI,
        if *theirs < crate::abi::ABI { "plug-in" } else { "node" })]
    Abi {
        /// The file.
        path: PathBuf,
        /// Its ABI.
        theirs: u32,
    },
    /// The same ABI by number, another by its bytes.
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
    /// A table with a hole.
    #[error("{}: its `{function}` is null or gives null", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// Name of the function.
        function: &'static str,
    },
    /// The model or the device failed.
    #[error("{0}")]
    Failed(String),
    /// The device's memory is full.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The model, the device or the precision is none that the plug-in serves.
    #[error("{0}")]
    Refused(String),
}
