//! Settings of engine plug-ins, which run a model of tensors or a language model.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context as _, bail};
use netdiv_node_common::process::TimeSpan;
use serde::Serialize;

use crate::{
    engine::shared_args::{Given, some_threads},
    ground::range::MILLISECOND,
    model::{
        language::LanguageModel,
        manifest::{Manifest, ModelFile},
    },
};

/// Keys of plug-ins.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Plug-ins")]
pub struct PluginArgs {
    /// Devices, as `sut-node devices` names them [default: all GPUs, or the CPU]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub devices: Option<Vec<String>>,
    /// Number of threads that decode and post-process [default: cores]
    #[arg(long, value_name = "N")]
    pub workload_threads: Option<usize>,
    /// Folder of libtorch 2.11, for torch [default: $LIBTORCH, else python3's torch]
    #[arg(long, value_name = "DIR")]
    pub libtorch: Option<PathBuf>,
}

/// Settings of the engine `torch` or of another plug-in.
#[derive(Debug, Clone, Serialize)]
pub struct PluginConfig {
    /// Library of the plug-in.
    #[serde(rename = "plug_in")]
    pub file: PluginFile,
    /// Names of the devices; empty: all of the plug-in's preferred kind.
    pub devices: Vec<String>,
    /// Number of host threads of an instance; `None`: an equal share of the cores.
    pub threads: Option<usize>,
    /// Model that the plug-in runs.
    #[serde(flatten)]
    pub model: PluginModelConfig,
}

/// Model that a plug-in runs.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind")]
pub enum PluginModelConfig {
    /// A model of tensors.
    #[serde(rename = "plug-in")]
    Tensors(TensorPluginConfig),
    /// A language model.
    #[serde(rename = "token-plug-in")]
    Tokens {
        /// Manifest of the model.
        model: Arc<LanguageModel>,
    },
}

/// Library that contains an engine plug-in.
#[derive(Debug, Clone, Serialize)]
#[serde(into = "String")]
pub enum PluginFile {
    /// The plug-in for libtorch, which is part of the node.
    Torch {
        /// Folder of libtorch; `None`: search for one.
        libtorch: Option<PathBuf>,
    },
    /// A user's plug-in.
    File(PathBuf),
}

impl From<PluginFile> for String {
    /// Returns `torch`, or the name of the file.
    fn from(file: PluginFile) -> Self {
        match file {
            PluginFile::Torch { libtorch: _ } => "torch".into(),
            PluginFile::File(path) => {
                path.file_name().unwrap_or_default().to_string_lossy().into_owned()
            }
        }
    }
}

/// Settings of a plug-in that runs a model of tensors.
#[derive(Debug, Clone, Serialize)]
pub struct TensorPluginConfig {
    /// Number of threads that decode and post-process, over all instances.
    pub workload_threads: usize,
    /// Batch sizes, in samples. A smaller batch is filled up to the next of these sizes with zeros;
    /// empty: batches are not filled up.
    pub batch_sizes: Vec<usize>,
    /// Manifest of the model.
    #[serde(rename = "model")]
    pub manifest: Arc<Manifest>,
}

/// Default maximum batch size, in samples.
const MAX_BATCH: usize = 32;

impl PluginConfig {
    pub(in crate::engine) const KEYS: &[&str] = &[
        "model",
        "threads",
        "scenario",
        "batch_timeout",
        "max_batch_tokens",
        "buckets",
        "batch_sizes",
    ];

    /// Reads the manifest of the model, which determines its kind.
    pub(in crate::engine) fn resolve(
        keys: &PluginArgs,
        given: &mut Given<'_>,
    ) -> anyhow::Result<Self> {
        let file = match given.plugin.clone() {
            None => PluginFile::Torch { libtorch: keys.libtorch.clone() },
            Some(_) if keys.libtorch.is_some() => bail!("--libtorch belongs to the engine torch"),
            Some(file) => PluginFile::File(file),
        };
        let missing = "torch and plug-ins need --model, the manifest of a model (docs/ENGINES.md)";
        let path = given.shared.model.as_deref().context(missing)?;
        let devices = keys.devices.clone().unwrap_or_default();
        let threads = some_threads("threads", given.shared.threads)?;
        let model = ModelFile::read(path)?;
        if LanguageModel::is_in(&model) {
            refuse_batching(keys, given)?;
            let model = Arc::new(LanguageModel::of(&model)?);
            given.default_batching = (model.slots as usize, TimeSpan::ZERO);
            given.longest_output = Some(model.served.max_tokens);
            let model = PluginModelConfig::Tokens { model };
            return Ok(Self { file, devices, threads, model });
        }
        let manifest = Arc::new(Manifest::of(&model)?);
        given.add_batching(&manifest.batching, path)?;
        let workload_threads = some_threads("workload-threads", keys.workload_threads)?;
        given.default_batching = (MAX_BATCH, MILLISECOND);
        let max_batch = given.batching.max_batch.unwrap_or(MAX_BATCH);
        let model = PluginModelConfig::Tensors(TensorPluginConfig {
            workload_threads: workload_threads.unwrap_or(given.cores),
            batch_sizes: given.batching.sizes(max_batch)?,
            manifest,
        });
        Ok(Self { file, devices, threads, model })
    }
}

/// Fails if a key of models of tensors is set.
fn refuse_batching(keys: &PluginArgs, given: &Given<'_>) -> anyhow::Result<()> {
    let other = [
        ("workload-threads", keys.workload_threads.is_some()),
        ("scenario", given.shared.scenario.is_some()),
    ];
    let other = other.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key.to_owned());
    if let Some(key) = given.batching.first_set_option().or(other) {
        bail!(
            "--{key} is for models of tensors, but the manifest describes a language model: `slots` and `chunk` in [tokens] limit how \
             much runs at once; remove the option"
        );
    }
    Ok(())
}
