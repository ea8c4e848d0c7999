//! The settings that a node publishes: those that decide how it answers, as TOML, the same for all nodes that answer alike.
//!
//! `Machine.settings` of the evidence is this text, `Machine.settings_sha256` and Describe's `config_sha256` are its
//! SHA-256. Every struct of the resolved settings is taken apart here, so that a new one has to be sorted in. What does not
//! decide is left out: the node's name, addresses, and where certificates, tokens, models and libraries lie; the model
//! itself is described by its own SHA-256.

use std::time::Duration;

use netdiv_contract::{encoding::Encoding, layout::type_name};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{
    model::manifest::{Dimension, Manifest, Shape, WorkloadName},
    settings::{
        batching::Batching,
        config::Config,
        engine::{EchoConfig, EngineConfig, OnnxConfig, PluginConfig, PluginFile, Postprocess},
        network::{Network, Transports},
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
    pub(crate) fn new(config: &Config) -> Result<Self, toml::ser::Error> {
        let text = toml::to_string(&Settings::of(config))?;
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
    fn of(config: &'a Config) -> Self {
        let Config {
            network,
            name: _,
            engine,
            instances,
            batching,
            max_in_flight_samples,
            max_in_flight_bytes,
            max_payload_bytes,
            response_encoding,
            io_threads,
            pin,
            busy_poll,
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
                    plug_in: match file {
                        PluginFile::Torch { libtorch: _ } => "torch".into(),
                        PluginFile::File(path) => {
                            path.file_name().unwrap_or_default().to_string_lossy().into_owned()
                        }
                    },
                    devices,
                    threads: *threads,
                    workload_threads: *workload_threads,
                    batch_sizes,
                    model: Model::of(manifest),
                }
            }
        }
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
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use clap::Args as _;

    use super::*;
    use crate::settings::args::Args;

    const ECHO: &str = "engine = 'echo'";
    const ONNX: &str = "engine = 'onnx'";
    const TORCH: &str = "engine = 'torch'\nmodel = 'FOLDER/toy.toml'";

    /// For each key that decides how a node answers: settings, and one that differs in this key alone.
    const DECIDE: [(&str, &str, &str); 28] = [
        ("transport", ECHO, "'quic'"),
        ("receive_window_bytes", ECHO, "1000000"),
        ("max_connections", ECHO, "5"),
        ("quic_mtu", ECHO, "1400"),
        ("engine", "", "'none'"),
        ("instances", ECHO, "2"),
        ("max_in_flight_samples", ECHO, "77"),
        ("max_in_flight_bytes", ECHO, "77777"),
        ("max_payload_bytes", ECHO, "7777"),
        ("response_encoding", ECHO, "'lz4'"),
        ("io_threads", ECHO, "77"),
        ("pin", ECHO, "[0]"),
        ("busy_poll", ECHO, "true"),
        ("engine_timeout_ms", ECHO, "777"),
        ("drain_timeout_ms", ECHO, "777"),
        ("max_batch", ECHO, "7"),
        ("batch_timeout_us", ECHO, "77"),
        ("max_batch_bytes", ECHO, "777"),
        ("echo_answer_bytes", ECHO, "7"),
        ("echo_batch_us", ECHO, "7"),
        ("echo_sample_us", ECHO, "7"),
        ("postprocess", ONNX, "'none'"),
        ("threads", ONNX, "77"),
        ("devices", TORCH, "['cuda:0']"),
        ("workload_threads", TORCH, "77"),
        ("max_batch_tokens", TORCH, "77"),
        ("buckets", TORCH, "[77]"),
        ("batch_sizes", TORCH, "[7]"),
    ];

    /// The same for those that do not.
    const DO_NOT: [(&str, &str, &str); 8] = [
        ("listen", ECHO, "'127.0.0.1:7'"),
        ("name", ECHO, "'b'"),
        ("insecure", ECHO, "true"),
        ("metrics", ECHO, "'127.0.0.1:7'"),
        ("ready_file", ECHO, "'ready.json'"),
        ("token_file", ECHO, "'FOLDER/token'"),
        ("evidence", ECHO, "'FOLDER/evidence.toml'"),
        ("libtorch", TORCH, "'/elsewhere'"),
    ];

    /// Of certificates the text says whether there are any; a model is told by its manifest and its SHA-256, and a scenario
    /// by the batch settings that it chooses.
    const APART: [&str; 5] = ["tls_certificate", "tls_key", "tls_client_ca", "model", "scenario"];

    const MANIFEST: &str = "name = 'toy'\nmodel = 'toy.pt'\nworkload = 'tensors'\nprecision = 'fp32'\n\
        inputs = [{ name = 'x', data_type = 'float32', shape = [2, 'n'] }]\n\
        outputs = [{ name = 'y', data_type = 'float32', shape = [2, 'n'] }]\n";

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("toy.toml"), MANIFEST).unwrap();
        fs::write(folder.path().join("token"), "a-secret-that-is-long-enough-for-a-token").unwrap();
        fs::write(folder.path().join("evidence.toml"), "").unwrap();
        folder
    }

    fn published(folder: &Path, settings: &str) -> Published {
        let settings = settings.replace("FOLDER", &folder.display().to_string());
        let mut table: toml::Table = toml::from_str(&settings).unwrap();
        table.entry("name").or_insert("a".into());
        let args: Args = table.try_into().unwrap();
        Published::new(&args.resolve().unwrap()).unwrap()
    }

    fn with(base: &str, key: &str, value: &str) -> String {
        format!("{key} = {value}\n{base}")
    }

    #[test]
    fn what_decides_the_answers_changes_the_text_and_nothing_else_does() {
        let folder = folder();
        let of = |settings: &str| published(folder.path(), settings);
        for (key, base, value) in DECIDE {
            assert_ne!(of(&with(base, key, value)), of(base), "{key} decides");
        }
        for (key, base, value) in DO_NOT {
            assert_eq!(of(&with(base, key, value)), of(base), "{key} does not decide");
        }
        let tried = DECIDE.iter().chain(&DO_NOT).map(|(key, ..)| *key).chain(APART);
        let tried: BTreeSet<_> = tried.map(ToOwned::to_owned).collect();
        let command = Args::augment_args(clap::Command::new(""));
        let all: BTreeSet<_> =
            command.get_arguments().map(|key| key.get_id().to_string()).collect();
        assert_eq!(tried, all, "every key is tried");
    }

    #[test]
    fn the_defaults_that_the_help_names_are_in_force() {
        let folder = folder();
        let mut tried = 0;
        for key in Args::augment_args(clap::Command::new("")).get_arguments() {
            let help = key.get_help().map(ToString::to_string).unwrap_or_default();
            let default =
                help.rsplit_once("[default: ").map(|(_, text)| text.trim_end_matches(']'));
            let Some(default) = default.filter(|text| text.parse::<u64>().is_ok()) else {
                continue;
            };
            let set = with(ECHO, key.get_id().as_str(), default);
            assert_eq!(published(folder.path(), &set), published(folder.path(), ECHO), "{set}");
            tried += 1;
        }
        assert!(tried > 8, "{tried} defaults are numbers");
    }

    #[test]
    fn a_manifest_is_published_without_its_place() {
        let (folder, other) = (folder(), folder());
        let text = |folder: &tempfile::TempDir| published(folder.path(), TORCH).text;
        assert_eq!(text(&folder), text(&other));
        let line = "[batching.server]\nmax_batch = 7\n";
        fs::write(folder.path().join("toy.toml"), format!("{MANIFEST}{line}")).unwrap();
        assert_eq!(text(&folder), text(&other), "a scenario that is not asked for");
        let server = format!("scenario = 'server'\n{TORCH}");
        assert_ne!(published(folder.path(), &server).text, text(&other));
        for (from, to) in [("fp32", "fp16"), ("[2, 'n']", "[3, 'n']"), ("'toy'", "'boy'")] {
            fs::write(folder.path().join("toy.toml"), MANIFEST.replace(from, to)).unwrap();
            assert_ne!(text(&folder), text(&other), "{from}");
        }
    }

    #[test]
    fn the_text_is_toml_and_the_digest_is_its_own() {
        let published = published(folder().path(), ECHO);
        let table: toml::Table = toml::from_str(&published.text).unwrap();
        assert_eq!(table["engine"]["kind"].as_str(), Some("echo"));
        assert_eq!(published.sha256, hex::encode(Sha256::digest(published.text.as_bytes())));
    }
}
