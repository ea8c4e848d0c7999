//! Reasons why settings are invalid.

use std::path::PathBuf;

use netdiv_contract::NAME_RULE;
use netdiv_node_common::{sanitise::sanitise, words::Scenario};
use netdiv_transport::security::SecurityError;

use crate::{
    ground::range::OutOfRange,
    model::manifest::ManifestError,
    settings::{fabric::PeersError, network::NetworkError},
};

/// Reason why settings are invalid.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The network settings are invalid.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The settings of the network to other nodes are invalid.
    #[error(transparent)]
    Peers(#[from] PeersError),
    /// `--pin` names a core that the machine does not have.
    #[error("--pin: {0}")]
    Pin(String),
    /// A number is out of its range.
    #[error(transparent)]
    Range(#[from] OutOfRange),
    /// The name of the node would contain a port that is not known yet.
    #[error("--listen with port 0 takes any free port; give the node a --name")]
    NamelessPort,
    /// `--metrics` has port 0, so no client would know the port of the metrics.
    #[error("--metrics with port 0 takes any free port, which no client would know; name a port")]
    MetricsPort,
    /// The name of the node is invalid.
    #[error("--name `{}`: {NAME_RULE}", sanitise(.0))]
    Name(String),
    /// A key is set that applies only to other engines.
    #[error("--{key} belongs to the engine {engine}")]
    OtherEngine {
        /// Name of the key.
        key: String,
        /// Engines that the key applies to.
        engine: String,
    },
    /// Options are unreadable, such as a path that is not UTF-8.
    #[error("the options cannot be read: {0}")]
    UnreadableOptions(String),
    /// The manifest of a plug-in's model is missing.
    #[error("torch and plug-ins need --model, the manifest of a model (docs/ENGINES.md)")]
    NoManifest,
    /// The file of an engine in Python is missing.
    #[error("python needs --model, the file with the engine's class (docs/ENGINES.md)")]
    NoPythonFile,
    /// An engine in Python cannot be used.
    #[error("{0}")]
    Python(String),
    /// `--model` is missing.
    #[error("no model; give --model FILE, or --model {demo} for the demo's model")]
    NoModel {
        /// Name of the demo's model for this engine.
        demo: &'static str,
    },
    /// `--model` names neither a file nor the demo's model.
    #[error(
        "--model {}: the only model with a name is {demo}; write a file with a / or an extension, such as ./{}",
        sanitise(name),
        sanitise(name)
    )]
    ModelName {
        /// Value of `--model`.
        name: String,
        /// Name of the demo's model for this engine.
        demo: &'static str,
    },
    /// A key is set that applies only to models of tensors, which run in batches, but the model is
    /// a language model.
    #[error(
        "--{0} is for models of tensors, but the manifest describes a language model: `slots` and `chunk` in [tokens] limit how \
         much runs at once; remove the option"
    )]
    NoBatches(String),
    /// The manifest has no batch settings for the scenario.
    #[error("--scenario {scenario}: {} has no table [batching.{scenario}]", manifest.display())]
    NoBatching {
        /// Scenario of `--scenario`.
        scenario: Scenario,
        /// Path of the manifest.
        manifest: PathBuf,
    },
    /// The engine in Python has no manifest with batch settings for the scenario.
    #[error("--scenario {scenario}: there is no manifest {}", manifest.display())]
    NoPythonManifest {
        /// Scenario of `--scenario`.
        scenario: Scenario,
        /// Path that the manifest would have.
        manifest: PathBuf,
    },
    /// The schedule of tokens is invalid.
    #[error("--tokens-schedule {}: {why}", path.display())]
    Schedule {
        /// Path of the schedule.
        path: PathBuf,
        /// Error in the schedule.
        why: String,
    },
    /// A schedule is set together with options that it replaces.
    #[error(
        "--tokens-schedule replaces --tokens-ttft, --tokens-tpot and --tokens-output; remove them"
    )]
    ScheduleAndTimes,
    /// The address of the serving engine is missing.
    #[error("openai and kserve need --url, the address of the serving engine (docs/ENGINES.md)")]
    NoUrl,
    /// The file of the serving engine's model is missing.
    #[error(
        "openai and kserve need --model, a file that describes the serving engine's model (docs/ENGINES.md#the-models-file)"
    )]
    NoModelFile,
    /// The address of a serving engine is invalid.
    #[error("--url {url}: {why}")]
    Url {
        /// Invalid address.
        url: String,
        /// Error in the address.
        why: &'static str,
    },
    /// The address is https, but the authority that signs the server's certificate is missing.
    #[error("--url {0}: https needs --url-ca, the authority that signs the server's certificate")]
    NoAuthority(String),
    /// The description of the model sets a minimum number of output tokens, which llama.cpp does
    /// not support.
    #[error(
        "min_tokens = {0}: llama.cpp does not support a minimum number of output tokens; remove the key, or use another engine"
    )]
    MinTokensUnsupported(u32),
    /// The token or the certificates for serving engines cannot be used.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// The operator's statement about the machine cannot be read.
    #[error(transparent)]
    Evidence(#[from] netdiv_machine::evidence::SupplyError),
    /// The manifest is invalid.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}
