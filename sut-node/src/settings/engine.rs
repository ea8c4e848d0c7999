//! Settings of the engine.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use netdiv_node_common::process::TimeSpan;
use serde::{Deserialize, Serialize};

use crate::{
    ground::range::{OutOfRange, within},
    model::{
        batching::BatchingArgs,
        language::LanguageModel,
        manifest::{BatchingTables, Manifest},
    },
    settings::{
        decoder::DecoderConfig,
        echo::{EchoArgs, EchoConfig},
        engine_choice::{EngineChoice, EngineName, EngineParser},
        error::ConfigError,
        kserve::{KserveConfig, KserveModel},
        onnx::{OnnxArgs, OnnxConfig},
        plugin::{PluginArgs, PluginConfig, PluginFile, TokenPluginConfig, TorchArgs},
        python::{PythonArgs, PythonConfig},
        python_manifest::manifest_path,
        serving_engines::{OpenaiArgs, ServedArgs, ServedConfig, StartArgs},
        tokens::{TokensArgs, TokensConfig},
    },
};

/// Keys of the engine.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    /// Engine that runs the model, or the file of a plug-in [default: onnx]
    ///
    /// The file of a plug-in is named with a / or ends in .so.
    #[arg(long, value_parser = EngineParser, help = EngineName::short_help())]
    pub engine: Option<EngineChoice>,
    /// File of the model, or of its description, depending on the engine; or digits (onnx), sorting
    /// (decoder): the demo's
    ///
    /// onnx: the model file, or digits, the demo's network. decoder: the description of a model
    /// that is beside it, or sorting, the demo's. torch and plug-ins: the model's manifest. python:
    /// the file with the class. Serving engines: the description of the served model.
    ///
    /// The name of a file contains a / or has an extension.
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub model: Option<PathBuf>,
    /// Keys of a model that runs on this machine.
    #[command(flatten)]
    #[serde(flatten)]
    pub local: LocalArgs,
    /// Keys of the engine `onnx`.
    #[command(flatten)]
    #[serde(flatten)]
    pub onnx: OnnxArgs,
    /// Keys of plug-ins.
    #[command(flatten)]
    #[serde(flatten)]
    pub plugin: PluginArgs,
    /// Keys of the engine `torch`.
    #[command(flatten)]
    #[serde(flatten)]
    pub torch: TorchArgs,
    /// Keys of the engine `echo`.
    #[command(flatten)]
    #[serde(flatten)]
    pub echo: EchoArgs,
    /// Keys of the engine `tokens`.
    #[command(flatten)]
    #[serde(flatten)]
    pub tokens: TokensArgs,
    /// Keys of serving engines.
    #[command(flatten)]
    #[serde(flatten)]
    pub served: ServedArgs,
    /// Keys of the engine `openai`.
    #[command(flatten)]
    #[serde(flatten)]
    pub openai: OpenaiArgs,
    /// Keys of the engine `python`.
    #[command(flatten)]
    #[serde(flatten)]
    pub python: PythonArgs,
    /// Keys of the start of engines in other processes.
    #[command(flatten)]
    #[serde(flatten)]
    pub start: StartArgs,
}

/// Heading of the option that names a model.
const MODEL: &str = "Model (engines: onnx, decoder, torch, a plug-in, openai, kserve, python)";

/// Keys of models that run on this machine.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(
    next_help_heading = "Model on this machine (engines: onnx, decoder, torch, a plug-in, python)"
)]
pub struct LocalArgs {
    /// Number of processor threads of an instance [default: cores / instances]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

/// Returns a value of `--model`, with its path converted by `place`. The names of the demo's models
/// are no paths and stay unchanged.
pub(super) fn with_model(
    text: &str,
    place: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    if [DEMO_ONNX, DEMO_DECODER].contains(&text) { Ok(text.into()) } else { place(text) }
}

/// An engine and its settings.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EngineConfig {
    /// `echo`: no model; responds in batches, after a set time.
    Echo(EchoConfig),
    /// `none`: no model and no batches; responds at once.
    None,
    /// `onnx`: runs a model in ONNX format.
    Onnx(OnnxConfig),
    /// `decoder`: runs a language model in ONNX format.
    Decoder(DecoderConfig),
    /// `tokens`: no model; its outputs are tokens, like those of a language model.
    Tokens(TokensConfig),
    /// `openai`: sends prompts to serving engines, over HTTP.
    #[serde(rename = "openai")]
    Served(Arc<ServedConfig>),
    /// `kserve`: sends samples to serving engines with the Open Inference Protocol, over gRPC.
    Kserve(Arc<KserveConfig>),
    /// `python`: runs a user's class in a worker process.
    Python(Arc<PythonConfig>),
    /// `torch` or another plug-in: runs a model of tensors.
    #[serde(rename = "plug-in")]
    Plugin(PluginConfig),
    /// `torch` or another plug-in: runs a language model.
    #[serde(rename = "token-plug-in")]
    TokenPlugin(TokenPluginConfig),
}

impl EngineConfig {
    /// Returns the addresses of the serving engines, as HOST:PORT; empty for an engine that needs
    /// no serving engine.
    pub(crate) fn serving_engines(&self) -> Vec<String> {
        match self {
            Self::Served(settings) => settings.servers.addresses(),
            Self::Kserve(settings) => settings.servers.addresses(),
            _ => Vec::new(),
        }
    }

    /// Returns the maximum number of tokens of an output; `None` if outputs are not tokens.
    pub(super) fn longest_output(&self) -> Option<u32> {
        match self {
            Self::Tokens(settings) => settings.outputs.iter().map(|kind| kind.tokens.max).max(),
            Self::Served(settings) => Some(settings.model.max_tokens),
            Self::Decoder(settings) => Some(settings.model.max_tokens),
            Self::TokenPlugin(settings) => Some(settings.model.served.max_tokens),
            Self::Kserve(settings) => match &settings.model {
                KserveModel::Tokens(model) => Some(model.served.max_tokens),
                KserveModel::Tensors(_) => None,
            },
            Self::Python(settings) => settings.longest_output(),
            Self::Echo(_) | Self::None | Self::Onnx(_) | Self::Plugin(_) => None,
        }
    }
}

/// Value of `--model` that names the demo's network, which is embedded in the program, for the
/// engine `onnx`.
const DEMO_ONNX: &str = netdiv_dataset::DIGITS;

/// Value of `--model` that names the demo's language model, which is embedded in the program, for
/// the engine `decoder`.
const DEMO_DECODER: &str = netdiv_dataset::SORTING;

/// Default of `--engine-start-timeout` for engines in Python: large models load for minutes.
const PYTHON_START: TimeSpan = TimeSpan::from_millis(600_000);

/// Upper limit of each option that sets a number of threads or instances: more than any machine has
/// cores for.
pub(super) const MAX_THREADS: usize = 1024;

/// Default maximum batch size of plug-ins and onnx, in samples.
pub(super) const PLUGIN_BATCH: usize = 32;

/// Default maximum number of samples in flight in a serving engine, equal to vLLM's.
pub(super) const SERVED_BATCH: usize = 256;

impl EngineArgs {
    /// Returns the engine that the operator chose, or the default `onnx`.
    pub(super) fn choice(&self) -> EngineChoice {
        self.engine.clone().unwrap_or(EngineChoice::Word(EngineName::Onnx))
    }

    /// Checks the settings and fills in the defaults. Reads the model's manifest, if it has one.
    /// Returns the settings of the engine, and the batch settings with missing values from the
    /// manifest.
    ///
    /// `cores` is the number of the machine's cores, `instances` the number of engine instances on
    /// each device.
    pub(super) fn resolve(
        &self,
        cores: usize,
        instances: usize,
        batching: &BatchingArgs,
    ) -> Result<(EngineConfig, BatchingArgs), ConfigError> {
        let file = match self.choice() {
            EngineChoice::File(file) => PluginFile::File(file),
            EngineChoice::Word(EngineName::None) => {
                return Ok((EngineConfig::None, batching.clone()));
            }
            EngineChoice::Word(EngineName::Echo) => {
                return Ok((EngineConfig::Echo(self.echo.resolve()?), batching.clone()));
            }
            EngineChoice::Word(EngineName::Tokens) => {
                return Ok((EngineConfig::Tokens(self.tokens.resolve()?), batching.clone()));
            }
            EngineChoice::Word(EngineName::Openai) => {
                let model = self.model.as_deref();
                let served = self.openai.resolve(&self.served, &self.start, model)?;
                return Ok((EngineConfig::Served(Arc::new(served)), batching.clone()));
            }
            EngineChoice::Word(EngineName::Kserve) => {
                return Ok((self.kserve()?, batching.clone()));
            }
            EngineChoice::Word(EngineName::Python) => {
                return self.python(self.threads(cores, instances)?, batching);
            }
            EngineChoice::Word(EngineName::Decoder) => {
                let threads = self.threads(cores, instances)?;
                let decoder = DecoderConfig::new(self.file_or(DEMO_DECODER)?, threads)?;
                return Ok((EngineConfig::Decoder(decoder), batching.clone()));
            }
            EngineChoice::Word(EngineName::Onnx) => {
                return Ok((EngineConfig::Onnx(self.onnx(cores, instances)?), batching.clone()));
            }
            EngineChoice::Word(EngineName::Torch | EngineName::PlugIn) => {
                PluginFile::Torch { libtorch: self.torch.libtorch.clone() }
            }
        };
        self.plugin(file, cores, batching)
    }

    /// Returns the number of threads of an engine instance: by default, an equal share of the
    /// cores.
    fn threads(&self, cores: usize, instances: usize) -> Result<usize, ConfigError> {
        let threads = self.local.threads.unwrap_or_else(|| (cores / instances).max(1));
        Ok(within("threads", threads, 1..=MAX_THREADS)?)
    }

    fn onnx(&self, cores: usize, instances: usize) -> Result<OnnxConfig, ConfigError> {
        Ok(OnnxConfig {
            model: self.file_or(DEMO_ONNX)?.map(Into::into),
            postprocess: self.onnx.postprocess.unwrap_or_default(),
            threads: self.threads(cores, instances)?,
        })
    }

    /// Returns the path that `--model` states; `None` if it is `demo`, the name of the demo's
    /// model.
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
        let servers = self.served.servers(&self.start, false)?;
        let path = self.model.as_deref().ok_or(ConfigError::NoModelFile)?;
        let model = KserveModel::read(path)?;
        Ok(EngineConfig::Kserve(Arc::new(KserveConfig { servers, model })))
    }

    /// Returns the batch settings. Adds missing values from a manifest's tables: first from the
    /// table of `--scenario`, then from `[batching.default]`. `path` is the manifest's.
    fn batching_of(
        &self,
        tables: &BatchingTables,
        path: &Path,
        batching: &BatchingArgs,
    ) -> Result<BatchingArgs, ConfigError> {
        let mut batching = batching.clone();
        if let Some(scenario) = self.plugin.scenario {
            let own = tables.scenarios.get(&scenario);
            let manifest = path.to_path_buf();
            let none = || ConfigError::NoBatching { scenario, manifest };
            batching = batching.or(own.ok_or_else(none)?);
        }
        Ok(batching.or(&tables.default))
    }

    fn python(
        &self,
        threads: usize,
        batching: &BatchingArgs,
    ) -> Result<(EngineConfig, BatchingArgs), ConfigError> {
        let file = self.model.as_deref().ok_or(ConfigError::NoPythonFile)?;
        let start_timeout = self.start.timeout(PYTHON_START)?;
        let python = self.python.resolve(file, threads, start_timeout, batching)?;
        let batching = match (&python.model.manifest, self.plugin.scenario) {
            (Some(manifest), _) => {
                self.batching_of(&manifest.batching, &manifest.path, batching)?
            }
            (None, None) => batching.clone(),
            (None, Some(scenario)) => {
                let manifest = manifest_path(file);
                return Err(ConfigError::NoPythonManifest { scenario, manifest });
            }
        };
        Ok((EngineConfig::Python(Arc::new(python)), batching))
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
        let batching = self.batching_of(&manifest.batching, path, batching)?;
        let plugin = PluginConfig {
            file,
            manifest: Arc::new(manifest),
            devices: self.plugin.devices.clone().unwrap_or_default(),
            threads: some_threads("threads", self.local.threads)?,
            workload_threads: some_threads("workload-threads", self.plugin.workload_threads)?
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
            ("workload-threads", self.plugin.workload_threads.is_some()),
            ("scenario", self.plugin.scenario.is_some()),
        ];
        let other = other.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key.to_owned());
        if let Some(key) = batching.first_set_option().or(other) {
            return Err(ConfigError::NoBatches(key));
        }
        Ok(TokenPluginConfig {
            file,
            model: Arc::new(LanguageModel::read(path)?),
            devices: self.plugin.devices.clone().unwrap_or_default(),
            threads: some_threads("threads", self.local.threads)?,
        })
    }
}

fn some_threads(key: &'static str, threads: Option<usize>) -> Result<Option<usize>, OutOfRange> {
    threads.map(|threads| within(key, threads, 1..=MAX_THREADS)).transpose()
}
