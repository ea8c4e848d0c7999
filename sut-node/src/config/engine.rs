//! Which engine, and its settings.

use std::{path::PathBuf, sync::Arc, time::Duration};

use netdiv_proto::limits;
use serde::{Deserialize, Serialize};

use super::{BatchingArgs, ConfigError, MAX_THREADS, within};
use crate::{
    engine::{PluginConfig, PluginFile},
    manifest::Manifest,
};

/// Keys of the engine.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub struct EngineArgs {
    /// What runs the model: onnx; torch (libtorch); the file of a plug-in; none (no model, answers at once: for
    /// `loadgen-node fabric`); or echo (no model, answers in batches after a time) [default: onnx]
    #[arg(long)]
    pub engine: Option<String>,
    /// onnx: the model file [default: the embedded digits network]; torch and plug-ins: the model's manifest
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// onnx: what is made of the model's first output: top1 (int32 label) or none (its bytes) [default: top1]
    #[arg(long)]
    pub postprocess: Option<String>,
    /// Processor threads of one instance [default: cores / instances]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// torch and plug-ins: devices, as `sut-node devices` names them [default: all GPUs, or the CPU]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub devices: Option<Vec<String>>,
    /// torch and plug-ins: threads that decode and post-process [default: cores]
    #[arg(long, value_name = "N")]
    pub workload_threads: Option<usize>,
    /// torch and plug-ins: take the batch settings of this scenario from the manifest: offline, server, single-stream or
    /// multi-stream
    #[arg(long)]
    pub scenario: Option<String>,
    /// torch: where libtorch 2.11 is [default: $LIBTORCH, else python3's torch]
    #[arg(long, value_name = "DIR")]
    pub libtorch: Option<PathBuf>,
    /// echo: bytes of each answer, 0 for the sample's own bytes [default: 8]
    #[arg(long, value_name = "BYTES")]
    pub echo_answer_bytes: Option<usize>,
    /// echo: time that each batch takes, in microseconds [default: 0]
    #[arg(long, value_name = "US")]
    pub echo_batch_us: Option<u64>,
    /// echo: time that each sample of a batch adds, in microseconds [default: 0]
    #[arg(long, value_name = "US")]
    pub echo_sample_us: Option<u64>,
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
    /// A shared library.
    Plugin(PluginConfig),
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

/// Longest batch of plug-ins and onnx by default, in samples.
pub(super) const PLUGIN_BATCH: usize = 32;

const SCENARIOS: [&str; 4] = ["offline", "server", "single-stream", "multi-stream"];

impl EngineArgs {
    /// Checks the settings and fills in the defaults; reads the manifest of a plug-in's model. Gives the batch settings
    /// too: what `batching` leaves open, the manifest may say.
    pub(super) fn resolve(
        &self,
        cores: usize,
        instances: usize,
        batching: &BatchingArgs,
    ) -> Result<(EngineConfig, BatchingArgs), ConfigError> {
        let engine = self.engine.as_deref().unwrap_or("onnx");
        let kind = match engine {
            "none" | "echo" | "onnx" => engine,
            // A file is a path; a word without a slash is a name.
            "torch" => "torch",
            file if file.contains('/') || file.ends_with(".so") => "a plug-in",
            other => {
                return Err(ConfigError::Choice {
                    key: "engine",
                    value: other.into(),
                    choices: "onnx, torch, none, echo, or the file of a plug-in (with a / or ending in .so)",
                });
            }
        };
        self.refuse_foreign_keys(kind, batching)?;
        let engine = match kind {
            "none" => EngineConfig::None,
            "echo" => EngineConfig::Echo(self.echo()?),
            "onnx" => EngineConfig::Onnx(self.onnx(cores, instances)?),
            _ => return self.plugin(engine, cores, batching),
        };
        Ok((engine, batching.clone()))
    }

    /// Keys that another engine would understand.
    fn refuse_foreign_keys(&self, kind: &str, batching: &BatchingArgs) -> Result<(), ConfigError> {
        let plugins: &[&str] = &["torch", "a plug-in"];
        let models: &[&str] = &["onnx", "torch", "a plug-in"];
        let keys: [(&'static str, bool, &[&str]); 13] = [
            ("model", self.model.is_some(), models),
            ("postprocess", self.postprocess.is_some(), &["onnx"]),
            ("threads", self.threads.is_some(), models),
            ("devices", self.devices.is_some(), plugins),
            ("workload-threads", self.workload_threads.is_some(), plugins),
            ("scenario", self.scenario.is_some(), plugins),
            ("libtorch", self.libtorch.is_some(), &["torch"]),
            ("max-batch-tokens", batching.max_batch_tokens.is_some(), plugins),
            ("buckets", batching.buckets.is_some(), plugins),
            ("batch-sizes", batching.batch_sizes.is_some(), plugins),
            ("echo-answer-bytes", self.echo_answer_bytes.is_some(), &["echo"]),
            ("echo-batch-us", self.echo_batch_us.is_some(), &["echo"]),
            ("echo-sample-us", self.echo_sample_us.is_some(), &["echo"]),
        ];
        match keys.into_iter().find(|(_, is_set, engines)| *is_set && !engines.contains(&kind)) {
            Some((key, _, engines)) => {
                Err(ConfigError::OtherEngine { key, engine: engines.join(", ") })
            }
            None => Ok(()),
        }
    }

    fn echo(&self) -> Result<EchoConfig, ConfigError> {
        let answer_bytes = self.echo_answer_bytes.unwrap_or(8);
        if answer_bytes > 0 {
            within("echo-answer-bytes", answer_bytes, limits::MAX_PAYLOAD_BYTES)?;
        }
        Ok(EchoConfig {
            answer_bytes,
            per_batch: Duration::from_micros(self.echo_batch_us.unwrap_or(0)),
            per_sample: Duration::from_micros(self.echo_sample_us.unwrap_or(0)),
        })
    }

    fn onnx(&self, cores: usize, instances: usize) -> Result<OnnxConfig, ConfigError> {
        let threads = self.threads.unwrap_or_else(|| (cores / instances).max(1));
        Ok(OnnxConfig {
            model: self.model.clone(),
            postprocess: postprocess(self.postprocess.as_deref().unwrap_or("top1"))?,
            threads: within("threads", threads, MAX_THREADS)?,
        })
    }

    fn plugin(
        &self,
        engine: &str,
        cores: usize,
        batching: &BatchingArgs,
    ) -> Result<(EngineConfig, BatchingArgs), ConfigError> {
        let path = self.model.as_deref().ok_or(ConfigError::NoManifest)?;
        let manifest = Manifest::read(path)?;
        let file = match engine {
            "torch" => PluginFile::Torch { libtorch: self.libtorch.clone() },
            file => PluginFile::File(file.into()),
        };
        let mut batching = batching.clone();
        if let Some(scenario) = &self.scenario {
            if !SCENARIOS.contains(&scenario.as_str()) {
                return Err(ConfigError::Choice {
                    key: "scenario",
                    value: scenario.clone(),
                    choices: "offline, server, single-stream, multi-stream",
                });
            }
            let own = manifest.batching.get(scenario).ok_or_else(|| ConfigError::NoBatching {
                scenario: scenario.clone(),
                manifest: path.to_path_buf(),
            })?;
            batching = batching.or(own);
        }
        if let Some(any) = manifest.batching.get("default") {
            batching = batching.or(any);
        }
        let threads = |key, n: Option<usize>| n.map(|n| within(key, n, MAX_THREADS)).transpose();
        let plugin = PluginConfig {
            file,
            manifest: Arc::new(manifest),
            devices: self.devices.clone().unwrap_or_default(),
            threads: threads("threads", self.threads)?,
            workload_threads: threads("workload-threads", self.workload_threads)?.unwrap_or(cores),
            batch_sizes: batching.sizes(batching.max_batch.unwrap_or(PLUGIN_BATCH))?,
        };
        Ok((EngineConfig::Plugin(plugin), batching))
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
