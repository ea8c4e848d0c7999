//! The engine's settings.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::ValueEnum;
use netdiv_words::Scenario;
use serde::{Deserialize, Serialize};

use crate::{
    ground::range::{OutOfRange, within},
    model::{batching::BatchingArgs, language::LanguageModel, manifest::Manifest},
    settings::{
        decoder::DecoderConfig,
        echo::{EchoArgs, EchoConfig},
        engine_choice::{EngineChoice, EngineParser, EngineWord},
        error::ConfigError,
        kserve::{KserveConfig, KserveModel},
        plugin::{PluginFile, TokenPluginConfig},
        served::{ServedArgs, ServedConfig},
        tokens::{TokensArgs, TokensConfig},
    },
};

/// Keys of the engine.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Engine and model")]
pub struct EngineArgs {
    /// What runs the model: one of these words, which --help-all explains, or the file of a plug-in, with a / or ending in .so
    /// [default: onnx]
    #[arg(long, value_parser = EngineParser)]
    pub engine: Option<EngineChoice>,
    /// onnx: the model file, or digits, the demo's network; decoder: a file with what is known of the model beside it, or sorting,
    /// the demo's; torch and plug-ins: the model's manifest; serving engines: what is known of the served model. A
    /// file's name has a / or an extension
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// onnx: what is made of the model's first output [default: top1]
    #[arg(long)]
    pub postprocess: Option<Postprocess>,
    /// Processor threads of one instance [default: cores / instances]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// torch and plug-ins: devices, as `sut-node devices` names them [default: all GPUs, or the CPU]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub devices: Option<Vec<String>>,
    /// torch and plug-ins: threads that decode and post-process [default: cores]
    #[arg(long, value_name = "N")]
    pub workload_threads: Option<usize>,
    /// torch and plug-ins: take the batch settings of this scenario from the manifest
    #[arg(long)]
    pub scenario: Option<Scenario>,
    /// torch: where libtorch 2.11 is [default: $LIBTORCH, else python3's torch]
    #[arg(long, value_name = "DIR")]
    pub libtorch: Option<PathBuf>,
    /// The engine `echo`.
    #[command(flatten)]
    #[serde(flatten)]
    pub echo: EchoArgs,
    /// The engine `tokens`.
    #[command(flatten)]
    #[serde(flatten)]
    pub tokens: TokensArgs,
    /// Serving engines.
    #[command(flatten)]
    #[serde(flatten)]
    pub served: ServedArgs,
}

/// Replaces the path in a value of `--model`, which may be one of the demo's models.
pub(super) fn with_model(
    text: &str,
    place: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    if [DEMO_ONNX, DEMO_DECODER].contains(&text) { Ok(text.into()) } else { place(text) }
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
    /// A language model in ONNX format.
    Decoder(DecoderConfig),
    /// No model; tokens.
    Tokens(TokensConfig),
    /// A serving engine of language models.
    Served(Arc<ServedConfig>),
    /// A serving engine of the Open Inference Protocol.
    Kserve(Arc<KserveConfig>),
    /// A shared library.
    Plugin(PluginConfig),
    /// A shared library, and a language model.
    TokenPlugin(TokenPluginConfig),
}

impl EngineConfig {
    /// Where serving engines listen, as HOST:PORT.
    pub(crate) fn serving_engines(&self) -> Vec<String> {
        match self {
            Self::Served(settings) => settings.servers.addresses(),
            Self::Kserve(settings) => settings.servers.addresses(),
            _ => Vec::new(),
        }
    }

    /// Tokens of the longest output, where outputs are made of tokens.
    pub(super) fn longest_output(&self) -> Option<u32> {
        match self {
            Self::Tokens(settings) => settings.outputs.iter().map(|kind| kind.tokens.most).max(),
            Self::Served(settings) => Some(settings.model.max_tokens),
            Self::Decoder(settings) => Some(settings.model.max_tokens),
            Self::TokenPlugin(settings) => Some(settings.model.served.max_tokens),
            Self::Kserve(settings) => match &settings.model {
                KserveModel::Tokens(model) => Some(model.served.max_tokens),
                KserveModel::Tensors(_) => None,
            },
            Self::Echo(_) | Self::None | Self::Onnx(_) | Self::Plugin(_) => None,
        }
    }
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

/// A plug-in and what it runs.
#[derive(Debug, Clone)]
pub struct PluginConfig {
    /// The plug-in.
    pub file: PluginFile,
    /// The model.
    pub manifest: Arc<Manifest>,
    /// Devices; none: all of the plug-in's preferred kind.
    pub devices: Vec<String>,
    /// Threads of one instance on the host's processors; `None`: an equal share of the cores.
    pub threads: Option<usize>,
    /// Threads that decode and post-process, of all instances together.
    pub workload_threads: usize,
    /// Batches are filled up with zeros to one of these; none: they stay as they are.
    pub batch_sizes: Vec<usize>,
}

/// What is made of a model's first output, for each sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Postprocess {
    /// The place of the largest element, as int32
    #[default]
    Top1,
    /// The elements' bytes, as they are
    None,
}

/// The embedded network of the demo, for the engine `onnx`.
const DEMO_ONNX: &str = netdiv_dataset::DIGITS;

/// The embedded language model of the demo, for the engine `decoder`.
const DEMO_DECODER: &str = netdiv_dataset::SORTING;

/// More threads of one kind than any machine has cores for.
pub(super) const MAX_THREADS: usize = 1024;

/// Longest batch of plug-ins and onnx by default, in samples.
pub(super) const PLUGIN_BATCH: usize = 32;

/// Samples that a serving engine has at once by default, as many as vLLM takes.
pub(super) const SERVED_BATCH: usize = 256;

impl EngineArgs {
    /// Checks the settings and fills in the defaults; reads the manifest of a plug-in's model. Gives the batch settings
    /// too: what `batching` leaves open, the manifest may say.
    pub(super) fn resolve(
        &self,
        cores: usize,
        instances: usize,
        batching: &BatchingArgs,
    ) -> Result<(EngineConfig, BatchingArgs), ConfigError> {
        let engine = self.engine.clone().unwrap_or(EngineChoice::Word(EngineWord::Onnx));
        self.refuse_foreign_keys(engine.kind(), batching)?;
        let file = match engine {
            EngineChoice::File(file) => PluginFile::File(file),
            EngineChoice::Word(EngineWord::None) => {
                return Ok((EngineConfig::None, batching.clone()));
            }
            EngineChoice::Word(EngineWord::Echo) => {
                return Ok((EngineConfig::Echo(self.echo.resolve()?), batching.clone()));
            }
            EngineChoice::Word(EngineWord::Tokens) => {
                return Ok((EngineConfig::Tokens(self.tokens.resolve()?), batching.clone()));
            }
            EngineChoice::Word(EngineWord::Openai) => {
                let served = Arc::new(self.served.resolve(self.model.as_deref())?);
                return Ok((EngineConfig::Served(served), batching.clone()));
            }
            EngineChoice::Word(EngineWord::Kserve) => {
                return Ok((self.kserve()?, batching.clone()));
            }
            EngineChoice::Word(EngineWord::Decoder) => {
                let threads = self.threads(cores, instances)?;
                let decoder = DecoderConfig::new(self.file_or(DEMO_DECODER)?, threads)?;
                return Ok((EngineConfig::Decoder(decoder), batching.clone()));
            }
            EngineChoice::Word(EngineWord::Onnx) => {
                return Ok((EngineConfig::Onnx(self.onnx(cores, instances)?), batching.clone()));
            }
            EngineChoice::Word(EngineWord::Torch | EngineWord::PlugIn) => {
                PluginFile::Torch { libtorch: self.libtorch.clone() }
            }
        };
        self.plugin(file, cores, batching)
    }

    /// Keys that another engine would understand.
    fn refuse_foreign_keys(
        &self,
        kind: EngineWord,
        batching: &BatchingArgs,
    ) -> Result<(), ConfigError> {
        use EngineWord::{Decoder, Echo, Kserve, Onnx, Openai, PlugIn, Tokens, Torch};
        let plugins: &[EngineWord] = &[Torch, PlugIn];
        let models: &[EngineWord] = &[Onnx, Decoder, Torch, PlugIn];
        let servers: &[EngineWord] = &[Openai, Kserve];
        let with_model = [models, servers].concat();
        // Streaming engines form their batches themselves: they are given every sample that they have room for.
        let batches: &[EngineWord] = &[Onnx, Torch, PlugIn, Echo, EngineWord::None];
        let (echo, tokens, served) = (self.echo.any(), self.tokens.any(), self.served.any());
        let keys: [(&'static str, bool, &[EngineWord]); 15] = [
            ("model", self.model.is_some(), &with_model),
            ("postprocess", self.postprocess.is_some(), &[Onnx]),
            ("threads", self.threads.is_some(), models),
            ("devices", self.devices.is_some(), plugins),
            ("workload-threads", self.workload_threads.is_some(), plugins),
            ("scenario", self.scenario.is_some(), plugins),
            ("libtorch", self.libtorch.is_some(), &[Torch]),
            ("max-batch-tokens", batching.max_batch_tokens.is_some(), plugins),
            ("batch-timeout", batching.batch_timeout.is_some(), batches),
            ("buckets", batching.buckets.is_some(), plugins),
            ("batch-sizes", batching.batch_sizes.is_some(), plugins),
            (echo.unwrap_or_default(), echo.is_some(), &[Echo]),
            (tokens.unwrap_or_default(), tokens.is_some(), &[Tokens]),
            ("openai-dialect", self.served.openai_dialect.is_some(), &[Openai]),
            (served.unwrap_or_default(), served.is_some(), servers),
        ];
        match keys.into_iter().find(|(_, is_set, engines)| *is_set && !engines.contains(&kind)) {
            Some((key, _, engines)) => {
                let engines: Vec<_> = engines.iter().map(ToString::to_string).collect();
                Err(ConfigError::OtherEngine { key, engine: engines.join(", ") })
            }
            None => Ok(()),
        }
    }

    /// Threads of an instance that runs on the cores.
    fn threads(&self, cores: usize, instances: usize) -> Result<usize, ConfigError> {
        let threads = self.threads.unwrap_or_else(|| (cores / instances).max(1));
        Ok(within("threads", threads, 1..=MAX_THREADS)?)
    }

    fn onnx(&self, cores: usize, instances: usize) -> Result<OnnxConfig, ConfigError> {
        Ok(OnnxConfig {
            model: self.file_or(DEMO_ONNX)?.map(Into::into),
            postprocess: self.postprocess.unwrap_or_default(),
            threads: self.threads(cores, instances)?,
        })
    }

    /// The model's file; `None` where it is the demo's, which goes by its name.
    fn file_or(&self, demo: &'static str) -> Result<Option<&Path>, ConfigError> {
        let Some(model) = self.model.as_deref() else { return Err(ConfigError::NoModel { demo }) };
        if model.as_os_str() == demo {
            return Ok(None);
        }
        let is_path = model.as_os_str().as_encoded_bytes().contains(&b'/');
        if !is_path && model.extension().is_none() {
            return Err(ConfigError::ModelName { name: model.display().to_string(), demo });
        }
        Ok(Some(model))
    }

    fn kserve(&self) -> Result<EngineConfig, ConfigError> {
        let path = self.model.as_deref().ok_or(ConfigError::NoServer)?;
        let (servers, model) = (self.served.servers(false)?, KserveModel::read(path)?);
        Ok(EngineConfig::Kserve(Arc::new(KserveConfig { servers, model })))
    }

    /// What `batching` leaves open, by the manifest.
    fn batching_of(
        &self,
        manifest: &Manifest,
        path: &Path,
        batching: &BatchingArgs,
    ) -> Result<BatchingArgs, ConfigError> {
        let mut batching = batching.clone();
        if let Some(scenario) = self.scenario {
            let own = manifest.batching.scenarios.get(&scenario);
            let manifest = path.to_path_buf();
            let none = || ConfigError::NoBatching { scenario, manifest };
            batching = batching.or(own.ok_or_else(none)?);
        }
        Ok(batching.or(&manifest.batching.default))
    }

    fn plugin(
        &self,
        file: PluginFile,
        cores: usize,
        batching: &BatchingArgs,
    ) -> Result<(EngineConfig, BatchingArgs), ConfigError> {
        let path = self.model.as_deref().ok_or(ConfigError::NoManifest)?;
        if LanguageModel::is_in(path) {
            let plugin = self.token_plugin(file, path, batching)?;
            return Ok((EngineConfig::TokenPlugin(plugin), batching.clone()));
        }
        let manifest = Manifest::read(path)?;
        let batching = self.batching_of(&manifest, path, batching)?;
        let plugin = PluginConfig {
            file,
            manifest: Arc::new(manifest),
            devices: self.devices.clone().unwrap_or_default(),
            threads: some_threads("threads", self.threads)?,
            workload_threads: some_threads("workload-threads", self.workload_threads)?
                .unwrap_or(cores),
            batch_sizes: batching.sizes(batching.max_batch.unwrap_or(PLUGIN_BATCH))?,
        };
        Ok((EngineConfig::Plugin(plugin), batching))
    }

    fn token_plugin(
        &self,
        file: PluginFile,
        path: &Path,
        batching: &BatchingArgs,
    ) -> Result<TokenPluginConfig, ConfigError> {
        let other = [
            ("workload-threads", self.workload_threads.is_some()),
            ("scenario", self.scenario.is_some()),
        ];
        let other = other.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key);
        if let Some(key) = batching.any().or(other) {
            return Err(ConfigError::NoBatches(key));
        }
        Ok(TokenPluginConfig {
            file,
            model: Arc::new(LanguageModel::read(path)?),
            devices: self.devices.clone().unwrap_or_default(),
            threads: some_threads("threads", self.threads)?,
        })
    }
}

fn some_threads(key: &'static str, threads: Option<usize>) -> Result<Option<usize>, OutOfRange> {
    threads.map(|threads| within(key, threads, 1..=MAX_THREADS)).transpose()
}
