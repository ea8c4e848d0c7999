//! Why settings were refused.

use std::path::PathBuf;

use netdiv_contract::NAME_RULE;
use netdiv_node_common::{said::said, words::Scenario};
use netdiv_transport::security::SecurityError;

use crate::{
    ground::range::OutOfRange,
    model::manifest::ManifestError,
    settings::{fabric::PeersError, network::NetworkError},
};

/// Why settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The network side.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The network to other nodes.
    #[error(transparent)]
    Peers(#[from] PeersError),
    /// A core that there is not.
    #[error("--pin: {0}")]
    Pin(String),
    /// A number that makes no sense.
    #[error(transparent)]
    Range(#[from] OutOfRange),
    /// A port that is not known yet cannot be part of a name.
    #[error("--listen with port 0 takes any free port; give the node a --name")]
    NamelessPort,
    /// The address of the metrics must be known.
    #[error("--metrics with port 0 takes any free port, which nobody would know; name a port")]
    MetricsPort,
    /// Not a name.
    #[error("--name `{}`: {NAME_RULE}", said(.0))]
    Name(String),
    /// A key of another engine.
    #[error("--{key} belongs to the engine {engine}")]
    OtherEngine {
        /// The key.
        key: String,
        /// Those that it belongs to.
        engine: String,
    },
    /// Unreadable options, such as a path that is not UTF-8.
    #[error("the options cannot be read: {0}")]
    Given(String),
    /// A plug-in runs nothing without one.
    #[error("torch and plug-ins need --model, the manifest of a model (docs/MODELS.md)")]
    NoManifest,
    /// The engine has nothing to run.
    #[error("no model; give --model FILE, or --model {demo} for that of the demo")]
    NoModel {
        /// The demo's model for this engine.
        demo: &'static str,
    },
    /// Neither a file nor the demo's model.
    #[error(
        "--model {}: this engine has no model of that name but {demo}; a file is named with a / or an extension, as ./{}",
        said(name),
        said(name)
    )]
    ModelName {
        /// What was given.
        name: String,
        /// The demo's model for this engine.
        demo: &'static str,
    },
    /// A key of models that are run in batches.
    #[error(
        "--{0} is for models of tensors, and the manifest is of a language model: there, `slots` and `chunk` in [tokens] say how \
         much runs at once; leave the option out"
    )]
    NoBatches(String),
    /// A scenario that the manifest does not know.
    #[error("--scenario {scenario}: {} has no table [batching.{scenario}]", manifest.display())]
    NoBatching {
        /// The scenario.
        scenario: Scenario,
        /// The manifest.
        manifest: PathBuf,
    },
    /// A schedule of tokens that cannot be read.
    #[error("--tokens-schedule {}: {why}", path.display())]
    Schedule {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Both say how long an output is and takes.
    #[error(
        "--tokens-schedule takes the place of --tokens-ttft, --tokens-tpot and --tokens-output; leave these out"
    )]
    ScheduleAndTimes,
    /// An engine has nobody to ask.
    #[error(
        "openai and kserve need --url, where the serving engine listens, and --model, a file that says what it serves (docs/ENGINES.md)"
    )]
    NoServer,
    /// Not the address of a serving engine.
    #[error("--url {url}: {why}")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Any certificate could be the server's.
    #[error("--url {0}: https needs --url-ca, the authority that signs the server's certificate")]
    NoAuthority(String),
    /// llama.cpp has no such key.
    #[error(
        "min_tokens = {0}: llama.cpp cannot be told the least tokens of an output; leave it out, or use another engine"
    )]
    NoLeastTokens(u32),
    /// The token or the certificates for serving engines cannot be used.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// What the operator states about the machine cannot be read.
    #[error(transparent)]
    Evidence(#[from] netdiv_machine::evidence::SupplyError),
    /// The manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}
