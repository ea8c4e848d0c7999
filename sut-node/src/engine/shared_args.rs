//! Keys that several engines have.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{bail, ensure};
use netdiv_dataset::{DIGITS, SORTING};
use netdiv_node_common::{process::TimeSpan, sanitise::sanitise, words::Scenario};
use serde::Serialize;

use crate::{
    engine::remote::server_settings::ServersArgs,
    ground::range::{limit, within},
    model::{batching::BatchingArgs, manifest::BatchingTables},
};

/// Keys that several engines have. The help lists a key with its engines.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Model")]
pub struct SharedArgs {
    /// File of the model, or of its description, depending on the engine; or digits (onnx), sorting
    /// (decoder): the demo's
    ///
    /// onnx: the model file, or digits, the demo's network. decoder: the description of a model
    /// that is beside it, or sorting, the demo's. torch and plug-ins: the model's manifest. python:
    /// the file with the class. Serving engines: the description of the served model.
    ///
    /// The name of a file contains a / or has an extension.
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// Number of processor threads of an instance [default: cores / instances]
    #[arg(long, value_name = "N", help_heading = "Model on this machine")]
    pub threads: Option<usize>,
    /// Scenario whose batch settings are taken from the manifest
    #[arg(long, help_heading = "Batching of a manifest")]
    pub scenario: Option<Scenario>,
    /// Keys of the batcher.
    #[command(flatten)]
    #[serde(flatten)]
    pub batching: BatchingArgs,
    /// Keys of serving engines.
    #[command(flatten)]
    #[serde(flatten)]
    pub servers: ServersArgs,
    /// For tests: derive the seed of each sample from this number and its prompt
    ///
    /// Equal prompts then have equal outputs. For models with `sampled = true`.
    // TOML, in which the node publishes its settings, has no larger numbers.
    #[arg(long, value_name = "N", hide_short_help = true, help_heading = "Sampling",
          value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub sampling_seed: Option<u64>,
    /// Maximum time to wait for an engine that is still loading [default: python 10m, others 0s]
    #[arg(long, value_name = "TIME", help_heading = "Start of the engine")]
    pub engine_start_timeout: Option<TimeSpan>,
}

/// Returns a value of `--model`, with its path converted by `place`. The names of the demo's models
/// are not paths, and stay unchanged.
pub(crate) fn with_model(
    text: &str,
    place: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    if [DIGITS, SORTING].contains(&text) { Ok(text.into()) } else { place(text) }
}

/// Upper limit of each option that sets a number of threads or instances: more than any machine has
/// cores for.
pub(crate) const MAX_THREADS: usize = 1024;

/// Settings of the operator and facts of the machine, of which an engine resolves its settings. The
/// last three fields are for the engine to change.
pub(super) struct Given<'a> {
    pub(super) shared: &'a SharedArgs,
    /// File of the plug-in; `None`: `--engine` is a name.
    pub(super) plugin: Option<PathBuf>,
    /// Set if the code of an engine in Python may run.
    pub(super) runs_code: bool,
    /// Number of the machine's cores.
    pub(super) cores: usize,
    /// Number of engine instances on each device.
    pub(super) instances: usize,
    /// Settings of the batcher, to which an engine adds missing values from its manifest.
    pub(super) batching: BatchingArgs,
    /// Defaults of the maximum batch size, in samples, and of the maximum time that a sample waits
    /// for its batch to fill.
    pub(super) default_batching: (usize, TimeSpan),
    /// Maximum number of tokens of an output; `None`: outputs are not tokens.
    pub(super) longest_output: Option<u32>,
}

impl<'a> Given<'a> {
    /// Returns the path that `--model` states; `None` if it is `demo`, the name of the demo's
    /// model.
    pub(super) fn model_or(&self, demo: &str) -> anyhow::Result<Option<&'a Path>> {
        let Some(model) = self.shared.model.as_deref() else {
            bail!("no model; give --model FILE, or --model {demo} for the demo's model");
        };
        if model.as_os_str() == demo {
            return Ok(None);
        }
        let is_path = model.as_os_str().as_encoded_bytes().contains(&b'/');
        let name = sanitise(&model.display().to_string());
        ensure!(
            is_path || model.extension().is_some(),
            "--model {name}: the only model with a name is {demo}; write a file with a / or an extension, such as ./{name}"
        );
        Ok(Some(model))
    }

    /// Returns the number of threads of an engine instance: by default, an equal share of the
    /// cores.
    pub(super) fn threads(&self) -> anyhow::Result<usize> {
        let share = (self.cores / self.instances).max(1);
        Ok(some_threads("threads", self.shared.threads)?.unwrap_or(share))
    }

    /// Adds missing batch settings from a manifest's tables: first from the table of `--scenario`,
    /// then from `[batching.default]`. `path` is the manifest's.
    pub(super) fn add_batching(
        &mut self,
        tables: &BatchingTables,
        path: &Path,
    ) -> anyhow::Result<()> {
        if let Some(scenario) = self.shared.scenario {
            let Some(own) = tables.scenarios.get(&scenario) else {
                let path = path.display();
                bail!("--scenario {scenario}: {path} has no table [batching.{scenario}]");
            };
            self.batching = self.batching.or(own);
        }
        self.batching = self.batching.or(&tables.default);
        Ok(())
    }

    /// Returns the maximum time to wait for an engine that is still loading.
    pub(super) fn start_timeout(&self, default: TimeSpan) -> anyhow::Result<Duration> {
        let given = self.shared.engine_start_timeout.unwrap_or(default);
        limit("engine-start-timeout", given, TimeSpan::ZERO)
    }
}

/// Returns the number of threads that a key states, if it is in range.
pub(super) fn some_threads(key: &str, threads: Option<usize>) -> anyhow::Result<Option<usize>> {
    threads.map(|threads| within(key, threads, 1..=MAX_THREADS)).transpose()
}
