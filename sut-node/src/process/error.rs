//! Reasons why a node, or its engines, ended.

use crate::ground::error::EngineError;

/// Reason why a node ended.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The engine cannot be created.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The machine's evidence cannot be read, or the settings or the ready file cannot be written.
    #[error(transparent)]
    Files(#[from] anyhow::Error),
    /// LoadGen nodes would refuse the description of the node, for this reason.
    #[error("LoadGen nodes would refuse this node: {0}; change its settings, or the model's file")]
    Description(String),
    /// The metrics cannot be served.
    #[error("cannot serve metrics: {0}")]
    Metrics(String),
    /// A thread or a socket cannot be created.
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
    /// The transport failed.
    #[error("the server failed: {0}")]
    Server(#[from] tonic::transport::Error),
    /// The device or the process of an engine is lost.
    #[error(
        "{0}. Restart the node; if that fails too, check the engine's output, and the device (nvidia-smi, and Xid in the \
         kernel's log)"
    )]
    DeviceLost(String),
    /// The engine cannot run without a network.
    #[error(
        "the engine {0} answers on the network's threads and cannot run without a network; use echo"
    )]
    NoEngine(String),
    /// The benchmark measures tokens in this scenario, and the engine does not return them.
    #[error(
        "responses of the engine {0} are not made of tokens. Token latencies need an engine for language models, or in Offline one \
         with counts_tokens"
    )]
    NoTokens(String),
    /// A signal of this name arrived before the node was ready.
    #[error("asked to end ({0}) while it loaded its model; the node has not served")]
    Stopped(&'static str),
    /// The thread that loads the model, or that waits for the engines, was lost.
    #[error("loading the model failed: {0}")]
    Loading(#[from] tokio::task::JoinError),
}

impl NodeError {
    /// Returns the exit code of a process that ended for this reason.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::DeviceLost(_) | Self::Stopped(_) => 1,
            Self::Server(_) | Self::Loading(_) => 3,
            _ => 2,
        }
    }
}
