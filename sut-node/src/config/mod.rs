//! Settings: the keys of the command line and the file, and what they become.

mod batching;
mod engine;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use netdiv_proto::{
    encoding::{self, Encoding},
    is_name, limits,
};
use serde::{Deserialize, Serialize};

pub use self::{
    batching::{Batching, BatchingArgs},
    engine::{EchoConfig, EngineArgs, EngineConfig, OnnxConfig, Postprocess},
};
use crate::{
    identity,
    manifest::ManifestError,
    network::{Network, NetworkArgs, NetworkError, address},
};

/// The keys. Each is also a key of the settings file, with underscores.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub struct Args {
    /// The network side.
    #[command(flatten)]
    #[serde(flatten)]
    pub network: NetworkArgs,
    /// Name of this node, unique in its cluster [default: HOSTNAME-PORT]
    #[arg(long)]
    pub name: Option<String>,
    /// The engine.
    #[command(flatten)]
    #[serde(flatten)]
    pub engine: EngineArgs,
    /// Instances of the engine on each device, each with a thread and batches of its own [default: 1]
    #[arg(long, value_name = "N")]
    pub instances: Option<usize>,
    /// The batcher.
    #[command(flatten)]
    #[serde(flatten)]
    pub batching: BatchingArgs,
    /// Samples taken in before the node stops reading [default: 4 batches for each instance]
    #[arg(long, value_name = "SAMPLES")]
    pub max_in_flight_samples: Option<u32>,
    /// Payload bytes taken in before the node stops reading [default: 268435456]
    #[arg(long, value_name = "BYTES")]
    pub max_in_flight_bytes: Option<u32>,
    /// Longest payload that is accepted, in bytes [default: 67108864]
    #[arg(long, value_name = "BYTES")]
    pub max_payload_bytes: Option<usize>,
    /// How responses are encoded: none, zstd or lz4 [default: none]
    #[arg(long, value_name = "ENCODING")]
    pub response_encoding: Option<String>,
    /// Threads that serve connections [default: 1 for every 4 cores]
    #[arg(long, value_name = "N")]
    pub io_threads: Option<usize>,
    /// Cores that these threads are bound to, in turn [default: any]
    #[arg(long, value_name = "CORES", value_delimiter = ',')]
    pub pin: Option<Vec<usize>>,
    /// Let these threads poll instead of sleeping: lower latency, a whole core for each
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    pub busy_poll: Option<bool>,
    /// What cannot be read about this machine, stated in TOML; docs/SUBMISSION.md lists the keys
    #[arg(long, value_name = "FILE")]
    pub evidence: Option<PathBuf>,
    /// Address of the Prometheus endpoint [default: none]
    #[arg(long, value_name = "IP:PORT")]
    pub metrics: Option<String>,
    /// How long an engine may be in one batch before the node says that it is unwell, in milliseconds [default: 45000]
    #[arg(long, value_name = "MS")]
    pub engine_timeout_ms: Option<u64>,
    /// How long a shutdown waits for what is in flight, in milliseconds [default: 5000]
    #[arg(long, value_name = "MS")]
    pub drain_timeout_ms: Option<u64>,
}

/// Longest time in one batch: a LoadGen node gives a node up that has not answered for 60 s, and the reason is to be named
/// before that.
const ENGINE_TIMEOUT_MS: u64 = 45_000;

/// A day: longer than any batch, and no overflow where times are added.
const MAX_TIMEOUT_MS: usize = 86_400_000;

/// More threads of one kind than any machine has cores for.
const MAX_THREADS: usize = 1024;

/// Settings that fit together.
#[derive(Debug, Clone)]
pub struct Config {
    /// The network side.
    pub network: Network,
    /// Name of the node.
    pub name: String,
    /// What runs the model.
    pub engine: EngineConfig,
    /// Engine threads of each device.
    pub instances: usize,
    /// How samples become batches.
    pub batching: Batching,
    /// Samples taken in at most; `None`: a few batches for each engine.
    pub max_in_flight_samples: Option<u32>,
    /// Payload bytes taken in at most.
    pub max_in_flight_bytes: u32,
    /// Longest payload, in bytes.
    pub max_payload_bytes: usize,
    /// How responses are encoded.
    pub response_encoding: Encoding,
    /// Threads that serve connections.
    pub io_threads: usize,
    /// Cores that these threads are bound to, in turn; none: anywhere.
    pub pin: Vec<usize>,
    /// Whether these threads poll instead of sleeping.
    pub busy_poll: bool,
    /// What the operator states about the machine.
    pub evidence: Option<PathBuf>,
    /// The settings as they were given, in TOML, without what is nobody's business.
    pub given: String,
    /// Address of the Prometheus endpoint.
    pub metrics: Option<SocketAddr>,
    /// How long an engine may be in one batch.
    pub engine_timeout: Duration,
    /// How long a shutdown waits.
    pub drain_timeout: Duration,
}

impl Config {
    /// The settings that decide how this node answers, the same for all nodes that answer alike: without its
    /// name and addresses.
    pub(crate) fn in_words(&self) -> String {
        let mut alike = Self {
            name: String::new(),
            metrics: None,
            evidence: None,
            given: String::new(),
            ..self.clone()
        };
        // Certificates and tokens are no part of the answers, and no stranger's business.
        alike.network = Network {
            listen: SocketAddr::from(([0, 0, 0, 0], 0)),
            tls: None,
            token: None,
            ..alike.network
        };
        format!("{alike:?}, tls: {}", self.network.tls.is_some())
    }
}

/// Why settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not one of the words that the key takes.
    #[error("--{key} {value}: choose one of {choices}")]
    Choice {
        /// The key.
        key: &'static str,
        /// The refused value.
        value: String,
        /// The words.
        choices: &'static str,
    },
    /// The network side.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A core that there is not.
    #[error("--pin: {0}")]
    Pin(String),
    /// A number that makes no sense.
    #[error("--{key} {value}: must be from 1 to {most}")]
    Range {
        /// The key.
        key: &'static str,
        /// The refused value.
        value: u64,
        /// The largest that would do.
        most: u64,
    },
    /// A port that nobody knows cannot be part of a name.
    #[error("--listen with port 0 takes any free port; give the node a --name")]
    NamelessPort,
    /// Not a name.
    #[error("--name `{0}`: a name is not empty and has no comma, bracket, quote or backslash")]
    Name(String),
    /// A key of another engine.
    #[error("--{key} belongs to the engine {engine}")]
    OtherEngine {
        /// The key.
        key: &'static str,
        /// Those that it belongs to.
        engine: String,
    },
    /// A plug-in runs nothing without one.
    #[error("torch and plug-ins need --model, the manifest of a model (docs/MODELS.md)")]
    NoManifest,
    /// A scenario that the manifest does not know.
    #[error("--scenario {scenario}: {} has no table [batching.{scenario}]", manifest.display())]
    NoBatching {
        /// The scenario.
        scenario: String,
        /// The manifest.
        manifest: PathBuf,
    },
    /// What the operator states about the machine cannot be read.
    #[error(transparent)]
    Evidence(#[from] netdiv_evidence::SupplyError),
    /// The manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl Args {
    /// The settings as TOML. Where certificates and tokens lie is left out.
    fn in_public(&self) -> String {
        let mut public = self.clone();
        let network = &mut public.network;
        for path in [
            &mut network.tls_certificate,
            &mut network.tls_key,
            &mut network.tls_client_ca,
            &mut network.token_file,
            &mut public.evidence,
        ] {
            *path = None;
        }
        toml::to_string(&public).unwrap_or_default()
    }

    /// Checks the settings and fills in the defaults.
    pub fn resolve(self) -> Result<Config, ConfigError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let given = self.in_public();
        self.evidence.as_deref().map(netdiv_evidence::check).transpose()?;
        let network = self.network.resolve()?;
        let pin = self.pin.clone().unwrap_or_default();
        node_process::check_cores(&pin).map_err(ConfigError::Pin)?;
        let metrics = self.metrics.as_deref().map(|text| address("metrics", text)).transpose()?;
        let instances = within("instances", self.instances.unwrap_or(1), MAX_THREADS)?;
        let (engine_config, batching) = self.engine.resolve(cores, instances, &self.batching)?;
        let (max_batch, batch_timeout_us) = match engine_config {
            EngineConfig::Echo(_) | EngineConfig::None => (1024, 0),
            EngineConfig::Onnx(_) | EngineConfig::Plugin(_) => (engine::PLUGIN_BATCH, 1000),
        };
        let batching = batching.resolve(max_batch, batch_timeout_us)?;
        let max_payload_bytes = self.max_payload_bytes.unwrap_or(64 << 20);
        within("max-payload-bytes", max_payload_bytes, limits::MAX_PAYLOAD_BYTES)?;
        let unnamed = self.name.is_none();
        let name = self
            .name
            .unwrap_or_else(|| format!("{}-{}", identity::host_name(), network.listen.port()));
        if unnamed && network.listen.port() == 0 {
            return Err(ConfigError::NamelessPort);
        }
        if !is_name(&name) {
            return Err(ConfigError::Name(name));
        }
        let response_encoding = self.response_encoding.unwrap_or_else(|| "none".into());
        let response_encoding =
            encoding::from_name(&response_encoding).ok_or(ConfigError::Choice {
                key: "response-encoding",
                value: response_encoding,
                choices: "none, zstd, lz4",
            })?;
        Ok(Config {
            network,
            name,
            engine: engine_config,
            instances,
            batching,
            max_in_flight_samples: self
                .max_in_flight_samples
                .map(|samples| within_u32("max-in-flight-samples", samples))
                .transpose()?,
            max_in_flight_bytes: within_u32(
                "max-in-flight-bytes",
                self.max_in_flight_bytes.unwrap_or(256 << 20),
            )?,
            max_payload_bytes,
            response_encoding,
            io_threads: within(
                "io-threads",
                self.io_threads.unwrap_or(cores.div_ceil(4)),
                MAX_THREADS,
            )?,
            pin,
            busy_poll: self.busy_poll.unwrap_or(false),
            evidence: self.evidence,
            given,
            metrics,
            engine_timeout: Duration::from_millis(within(
                "engine-timeout-ms",
                usize::try_from(self.engine_timeout_ms.unwrap_or(ENGINE_TIMEOUT_MS))
                    .unwrap_or(usize::MAX),
                MAX_TIMEOUT_MS,
            )? as u64),
            drain_timeout: Duration::from_millis(self.drain_timeout_ms.unwrap_or(5000)),
        })
    }
}

/// Checks that a number is from 1 to `most`.
fn within(key: &'static str, value: usize, most: usize) -> Result<usize, ConfigError> {
    match (1..=most).contains(&value) {
        true => Ok(value),
        false => Err(ConfigError::Range { key, value: value as u64, most: most as u64 }),
    }
}

fn within_u32(key: &'static str, value: u32) -> Result<u32, ConfigError> {
    match value {
        0 => Err(ConfigError::Range { key, value: 0, most: u32::MAX.into() }),
        _ => Ok(value),
    }
}
