//! The settings that a node publishes: those that decide how it answers, as TOML, the same for all nodes that answer alike.
//!
//! `Machine.settings` of the evidence is this text, `Machine.settings_sha256` and Describe's `config_sha256` are its
//! SHA-256. Every struct of the resolved settings is taken apart here, so that a new one has to be sorted in. What does not
//! decide is left out: the node's name, addresses, and where certificates, tokens, models and libraries lie; the model
//! itself is described by its own SHA-256.

use std::time::Duration;

use netdiv_contract::{encoding::Encoding, layout::type_name};
use netdiv_words::Found;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{
    model::{
        batching::Batching,
        decoupled::DecoupledModel,
        language::LanguageModel,
        manifest::{Dimension, Manifest, Shape, WorkloadName},
        served::ServedModel,
    },
    settings::{
        config::Config,
        decoder::DecoderConfig,
        echo::EchoConfig,
        engine::{EngineConfig, OnnxConfig, PluginConfig, Postprocess},
        kserve::{KserveConfig, KserveModel},
        network::{Network, Transports},
        plugin::TokenPluginConfig,
        served::{Dialect, ServedConfig, ServersConfig},
        tokens::TokensConfig,
    },
};

/// A published text and its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) text: String,
    /// SHA-256 of the text, in hex.
    pub(crate) sha256: String,
}

impl Published {
    /// Of those settings, and of what the engine found out when it was loaded.
    pub(crate) fn new(config: &Config, found: Option<&Found>) -> Result<Self, toml::ser::Error> {
        let text = toml::to_string(&Settings::of(config, found))?;
        let sha256 = hex::encode(Sha256::digest(&text));
        Ok(Self { text, sha256 })
    }
}

#[derive(Serialize)]
struct Settings<'a> {
    transport: Transports,
    tls: bool,
    receive_window_bytes: u32,
    max_connections: usize,
    quic_mtu: Option<u16>,
    instances: usize,
    max_in_flight_samples: Option<u32>,
    max_in_flight_bytes: u32,
    max_in_flight_tokens: Option<u32>,
    max_payload_bytes: usize,
    response_encoding: Encoding,
    io_threads: usize,
    pin: &'a [usize],
    busy_poll: bool,
    engine_timeout_ms: u64,
    drain_timeout_ms: u64,
    max_batch: usize,
    batch_timeout_us: u64,
    max_batch_tokens: Option<usize>,
    max_batch_bytes: Option<usize>,
    buckets: &'a [usize],
    engine: Engine<'a>,
    found: Option<&'a Found>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Engine<'a> {
    None,
    Echo {
        answer_bytes: usize,
        batch_us: u64,
        sample_us: u64,
    },
    Tokens(&'a TokensConfig),
    Openai {
        dialect: Dialect,
        /// Number of serving engines.
        servers: usize,
        timeout_ms: u64,
        model: &'a ServedModel,
    },
    Kserve {
        /// Number of serving engines.
        servers: usize,
        timeout_ms: u64,
        model: KserveServes<'a>,
    },
    Decoder {
        threads: usize,
        model: &'a ServedModel,
    },
    Onnx {
        postprocess: Postprocess,
        threads: usize,
    },
    PlugIn {
        /// `torch`, or the name of the file.
        plug_in: String,
        devices: &'a [String],
        threads: Option<usize>,
        workload_threads: usize,
        batch_sizes: &'a [usize],
        model: Model<'a>,
    },
    TokenPlugIn {
        /// `torch`, or the name of the file.
        plug_in: String,
        devices: &'a [String],
        threads: Option<usize>,
        model: Language<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum KserveServes<'a> {
    Tensors(Model<'a>),
    Tokens(&'a DecoupledModel),
}

/// What the manifest says of the model, besides its place and its batch settings, which are resolved.
#[derive(Serialize)]
struct Model<'a> {
    name: &'a str,
    workload: WorkloadName,
    precision: &'a str,
    weights: &'a str,
    encodings: &'a [Encoding],
    inputs: Vec<Tensor<'a>>,
    outputs: Vec<Tensor<'a>>,
    parameters: &'a toml::Table,
}

/// The same of a language model.
#[derive(Serialize)]
struct Language<'a> {
    precision: &'a str,
    weights: &'a str,
    slots: u32,
    chunk: u32,
    cache_mib: u32,
    beams: u32,
    #[serde(flatten)]
    served: &'a ServedModel,
}

#[derive(Serialize)]
struct Tensor<'a> {
    name: &'a str,
    data_type: &'a str,
    shape: Vec<Length>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Length {
    Fixed(usize),
    Free(String),
}

impl<'a> Settings<'a> {
    fn of(config: &'a Config, found: Option<&'a Found>) -> Self {
        let Config {
            network,
            name: _,
            engine,
            instances,
            batching,
            max_in_flight_samples,
            max_in_flight_bytes,
            max_in_flight_tokens,
            max_payload_bytes,
            response_encoding,
            io_threads,
            pin,
            busy_poll,
            fabric_peers: _,
            evidence: _,
            ready_file: _,
            metrics: _,
            engine_timeout,
            drain_timeout,
        } = config;
        let Network {
            listen: _,
            transports,
            tls,
            token: _,
            receive_window_bytes,
            max_connections,
            quic_mtu,
        } = network;
        let Batching { max_batch, timeout, max_tokens, max_bytes, buckets } = batching;
        Self {
            transport: *transports,
            tls: tls.is_some(),
            receive_window_bytes: *receive_window_bytes,
            max_connections: *max_connections,
            quic_mtu: *quic_mtu,
            instances: *instances,
            max_in_flight_samples: *max_in_flight_samples,
            max_in_flight_bytes: *max_in_flight_bytes,
            // The engine's settings tell the longest output.
            max_in_flight_tokens: max_in_flight_tokens.map(|room| room.most),
            max_payload_bytes: *max_payload_bytes,
            response_encoding: *response_encoding,
            io_threads: *io_threads,
            pin,
            busy_poll: *busy_poll,
            engine_timeout_ms: whole(engine_timeout.as_millis()),
            drain_timeout_ms: whole(drain_timeout.as_millis()),
            max_batch: *max_batch,
            batch_timeout_us: micros(*timeout),
            max_batch_tokens: *max_tokens,
            max_batch_bytes: *max_bytes,
            buckets,
            engine: Engine::of(engine),
            found,
        }
    }
}

impl<'a> Engine<'a> {
    fn of(engine: &'a EngineConfig) -> Self {
        match engine {
            EngineConfig::None => Self::None,
            EngineConfig::Echo(EchoConfig { answer_bytes, per_batch, per_sample }) => Self::Echo {
                answer_bytes: *answer_bytes,
                batch_us: micros(*per_batch),
                sample_us: micros(*per_sample),
            },
            EngineConfig::Tokens(settings) => Self::Tokens(settings),
            EngineConfig::Served(settings) => {
                let ServedConfig { servers, dialect, model } = &**settings;
                let ServersConfig { urls, token: _, tls: _, timeout } = servers;
                let timeout_ms = whole(timeout.as_millis());
                Self::Openai { dialect: *dialect, servers: urls.len(), timeout_ms, model }
            }
            EngineConfig::Kserve(settings) => {
                let KserveConfig { servers, model } = &**settings;
                let ServersConfig { urls, token: _, tls: _, timeout } = servers;
                Self::Kserve {
                    servers: urls.len(),
                    timeout_ms: whole(timeout.as_millis()),
                    model: match model {
                        KserveModel::Tensors(manifest) => {
                            KserveServes::Tensors(Model::of(manifest))
                        }
                        KserveModel::Tokens(model) => KserveServes::Tokens(model),
                    },
                }
            }
            EngineConfig::Decoder(DecoderConfig { file: _, model, threads }) => {
                Self::Decoder { threads: *threads, model }
            }
            EngineConfig::Onnx(OnnxConfig { model: _, postprocess, threads }) => {
                Self::Onnx { postprocess: *postprocess, threads: *threads }
            }
            EngineConfig::Plugin(plugin) => {
                let PluginConfig {
                    file,
                    manifest,
                    devices,
                    threads,
                    workload_threads,
                    batch_sizes,
                } = plugin;
                Self::PlugIn {
                    plug_in: file.name(),
                    devices,
                    threads: *threads,
                    workload_threads: *workload_threads,
                    batch_sizes,
                    model: Model::of(manifest),
                }
            }
            EngineConfig::TokenPlugin(TokenPluginConfig { file, model, devices, threads }) => {
                Self::TokenPlugIn {
                    plug_in: file.name(),
                    devices,
                    threads: *threads,
                    model: Language::of(model),
                }
            }
        }
    }
}

impl<'a> Language<'a> {
    fn of(model: &'a LanguageModel) -> Self {
        let LanguageModel { file: _, precision, weights, served, slots, chunk, cache_mib, beams } =
            model;
        let (slots, chunk, cache_mib, beams) = (*slots, *chunk, *cache_mib, *beams);
        Self { precision: precision.name(), weights, slots, chunk, cache_mib, beams, served }
    }
}

impl<'a> Model<'a> {
    fn of(manifest: &'a Manifest) -> Self {
        Self {
            name: &manifest.name,
            workload: manifest.workload,
            precision: manifest.precision.name(),
            weights: &manifest.weights,
            encodings: &manifest.encodings,
            inputs: manifest.inputs.iter().map(Tensor::of).collect(),
            outputs: manifest.outputs.iter().map(Tensor::of).collect(),
            parameters: &manifest.parameters,
        }
    }
}

impl<'a> Tensor<'a> {
    fn of(Shape { name, data_type, dimensions }: &'a Shape) -> Self {
        let length = |dimension: &Dimension| match dimension {
            Dimension::Fixed(length) => Length::Fixed(*length),
            Dimension::Free(number) => Length::Free(format!("free {number}")),
        };
        let shape = dimensions.iter().map(length).collect();
        Self { name, data_type: type_name(*data_type), shape }
    }
}

fn micros(time: Duration) -> u64 {
    whole(time.as_micros())
}

fn whole(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
