//! Settings: the keys of the command line and the file, and what they become.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use netdiv_proto::{
    encoding::{self, Encoding},
    is_name, limits,
};
use serde::{Deserialize, Serialize};

use crate::{
    identity,
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
    /// What runs the model: onnx; none (no model, answers at once: for `loadgen-node fabric`); or echo (no model,
    /// answers in batches after a time) [default: onnx]
    #[arg(long)]
    pub engine: Option<String>,
    /// Engine onnx: the model file [default: the embedded digits network]
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// Engine onnx: what is made of the model's first output: top1 (int32 label) or none (its bytes)
    /// [default: top1]
    #[arg(long)]
    pub postprocess: Option<String>,
    /// Engine onnx: threads of one instance [default: cores / instances]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Engine echo: bytes of each answer, 0 for the sample's own bytes [default: 8]
    #[arg(long, value_name = "BYTES")]
    pub echo_answer_bytes: Option<usize>,
    /// Engine echo: time that each batch takes, in microseconds [default: 0]
    #[arg(long, value_name = "US")]
    pub echo_batch_us: Option<u64>,
    /// Engine echo: time that each sample of a batch adds, in microseconds [default: 0]
    #[arg(long, value_name = "US")]
    pub echo_sample_us: Option<u64>,
    /// Instances of the engine, each with a thread and batches of its own [default: 1]
    #[arg(long, value_name = "N")]
    pub instances: Option<usize>,
    /// Longest batch, in samples [default: 32; echo: 1024]
    #[arg(long, value_name = "SAMPLES")]
    pub max_batch: Option<usize>,
    /// Longest time a sample waits for others to fill its batch, in microseconds [default: 1000; echo: 0]
    #[arg(long, value_name = "US")]
    pub batch_timeout_us: Option<u64>,
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
    /// Address of the Prometheus endpoint [default: none]
    #[arg(long, value_name = "IP:PORT")]
    pub metrics: Option<String>,
    /// How long a shutdown waits for what is in flight, in milliseconds [default: 5000]
    #[arg(long, value_name = "MS")]
    pub drain_timeout_ms: Option<u64>,
}

/// More threads of one kind than any machine has cores for.
const MAX_THREADS: usize = 1024;

/// Longest batch; the samples in flight, a few times as many, still fit 32 bits.
const MAX_BATCH: usize = 1 << 16;

/// Settings that fit together.
#[derive(Debug, Clone)]
pub struct Config {
    /// The network side.
    pub network: Network,
    /// Name of the node.
    pub name: String,
    /// What runs the model.
    pub engine: EngineConfig,
    /// Engine threads.
    pub instances: usize,
    /// Longest batch, in samples.
    pub max_batch: usize,
    /// Longest time a sample waits for others.
    pub batch_timeout: Duration,
    /// Samples taken in at most.
    pub max_in_flight_samples: u32,
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
    /// Address of the Prometheus endpoint.
    pub metrics: Option<SocketAddr>,
    /// How long a shutdown waits.
    pub drain_timeout: Duration,
}

impl Config {
    /// The settings that decide how this node answers, the same for all nodes that answer alike: without its
    /// name and addresses.
    pub(crate) fn in_words(&self) -> String {
        let mut alike = Self { name: String::new(), metrics: None, ..self.clone() };
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

/// An engine and its settings.
#[derive(Debug, Clone)]
pub enum EngineConfig {
    /// No model.
    Echo(EchoConfig),
    /// No model, no batches.
    None,
    /// A model in ONNX format.
    Onnx(OnnxConfig),
}

/// Settings of the engine `echo`.
#[derive(Debug, Clone)]
pub struct EchoConfig {
    /// Bytes of each answer; 0: the sample's own bytes.
    pub answer_bytes: usize,
    /// Time that each batch takes.
    pub per_batch: Duration,
    /// Time that each sample adds.
    pub per_sample: Duration,
}

/// Settings of the engine `onnx`.
#[derive(Debug, Clone)]
pub struct OnnxConfig {
    /// The model file; `None`: the embedded digits network.
    pub model: Option<PathBuf>,
    /// What is made of the output.
    pub postprocess: Postprocess,
    /// Threads of one instance.
    pub threads: usize,
}

/// What is made of a model's first output, for each sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Postprocess {
    /// The elements' bytes, as they are.
    None,
    /// The place of the largest element, as int32.
    Top1,
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
        /// Its engine.
        engine: &'static str,
    },
}

impl Args {
    /// Checks the settings and fills in the defaults.
    pub fn resolve(self) -> Result<Config, ConfigError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let network = self.network.resolve()?;
        let pin = self.pin.clone().unwrap_or_default();
        node_process::check_cores(&pin).map_err(ConfigError::Pin)?;
        let metrics = self.metrics.as_deref().map(|text| address("metrics", text)).transpose()?;
        let instances = within("instances", self.instances.unwrap_or(1), MAX_THREADS)?;
        let engine = self.engine(cores, instances)?;
        let (max_batch, batch_timeout_us) = match engine {
            EngineConfig::Echo(_) | EngineConfig::None => (1024, 0),
            EngineConfig::Onnx(_) => (32, 1000),
        };
        let max_batch = within("max-batch", self.max_batch.unwrap_or(max_batch), MAX_BATCH)?;
        let in_flight = u32::try_from(max_batch * instances * 4).unwrap_or(u32::MAX);
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
        let batch_timeout_us = self.batch_timeout_us.unwrap_or(batch_timeout_us);
        Ok(Config {
            network,
            name,
            engine,
            instances,
            max_batch,
            batch_timeout: Duration::from_micros(batch_timeout_us),
            max_in_flight_samples: within_u32(
                "max-in-flight-samples",
                self.max_in_flight_samples.unwrap_or(in_flight),
            )?,
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
            metrics,
            drain_timeout: Duration::from_millis(self.drain_timeout_ms.unwrap_or(5000)),
        })
    }

    fn engine(&self, cores: usize, instances: usize) -> Result<EngineConfig, ConfigError> {
        let onnx_keys = [
            ("model", self.model.is_some()),
            ("postprocess", self.postprocess.is_some()),
            ("threads", self.threads.is_some()),
        ];
        let echo_keys = [
            ("echo-answer-bytes", self.echo_answer_bytes.is_some()),
            ("echo-batch-us", self.echo_batch_us.is_some()),
            ("echo-sample-us", self.echo_sample_us.is_some()),
        ];
        match self.engine.as_deref().unwrap_or("onnx") {
            "none" => {
                none_set(&onnx_keys, "onnx")?;
                none_set(&echo_keys, "echo")?;
                Ok(EngineConfig::None)
            }
            "echo" => {
                none_set(&onnx_keys, "onnx")?;
                let answer_bytes = self.echo_answer_bytes.unwrap_or(8);
                if answer_bytes > 0 {
                    within("echo-answer-bytes", answer_bytes, limits::MAX_PAYLOAD_BYTES)?;
                }
                Ok(EngineConfig::Echo(EchoConfig {
                    answer_bytes,
                    per_batch: Duration::from_micros(self.echo_batch_us.unwrap_or(0)),
                    per_sample: Duration::from_micros(self.echo_sample_us.unwrap_or(0)),
                }))
            }
            "onnx" => {
                none_set(&echo_keys, "echo")?;
                let threads = self.threads.unwrap_or_else(|| (cores / instances).max(1));
                Ok(EngineConfig::Onnx(OnnxConfig {
                    model: self.model.clone(),
                    postprocess: postprocess(self.postprocess.as_deref().unwrap_or("top1"))?,
                    threads: within("threads", threads, MAX_THREADS)?,
                }))
            }
            other => Err(ConfigError::Choice {
                key: "engine",
                value: other.into(),
                choices: "onnx, none, echo",
            }),
        }
    }
}

fn none_set(keys: &[(&'static str, bool)], engine: &'static str) -> Result<(), ConfigError> {
    match keys.iter().find(|(_, is_set)| *is_set) {
        Some((key, _)) => Err(ConfigError::OtherEngine { key, engine }),
        None => Ok(()),
    }
}

fn postprocess(word: &str) -> Result<Postprocess, ConfigError> {
    match word {
        "none" => Ok(Postprocess::None),
        "top1" => Ok(Postprocess::Top1),
        other => Err(ConfigError::Choice {
            key: "postprocess",
            value: other.into(),
            choices: "top1, none",
        }),
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
