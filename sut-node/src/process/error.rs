//! Why a node, or its engines, ended.

use crate::{
    ground::error::EngineError, intake::evidence::EvidenceError,
    process::ready_file::ReadyFileError,
};

/// Why a node ended.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The engine cannot be made.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The machine's evidence cannot be made, or the settings not published.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The ready file cannot be written.
    #[error(transparent)]
    ReadyFile(#[from] ReadyFileError),
    /// The metrics cannot be served.
    #[error("cannot serve metrics: {0}")]
    Metrics(String),
    /// A thread or a socket could not be made.
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
    /// The transport failed.
    #[error("the server failed: {0}")]
    Server(#[from] tonic::transport::Error),
    /// The device of an engine is lost to this process.
    #[error(
        "{0}. Start the node again; if that fails too, look at the device (nvidia-smi, and Xid in the kernel's log)"
    )]
    DeviceLost(String),
    /// There is nothing to feed.
    #[error("the engine {0} answers on the network's threads and cannot run without one; use echo")]
    NoEngine(String),
    /// Tokens are wanted before the outputs are whole.
    #[error("the engine {0} gives no tokens, and this benchmark needs the first one ahead")]
    NoTokens(String),
    /// The model could not be loaded, or ended, because its thread was lost.
    #[error("loading the model failed: {0}")]
    Loading(#[from] tokio::task::JoinError),
}

impl NodeError {
    /// The exit code of a process that ended for this reason.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::DeviceLost(_) => 1,
            Self::Engine(_)
            | Self::Evidence(_)
            | Self::ReadyFile(_)
            | Self::Metrics(_)
            | Self::Start(_)
            | Self::NoEngine(_)
            | Self::NoTokens(_) => 2,
            Self::Server(_) | Self::Loading(_) => 3,
        }
    }
}
