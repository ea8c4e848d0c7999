//! The engine `python`, which runs a user's class in worker processes.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use netdiv_node_common::{
    process::TimeSpan,
    resources::{files, remedy},
    words::EngineFacts,
};
use serde::Serialize;
use tracing::info;

use crate::{
    engine::{
        interface::EngineKind,
        python::{
            manifest::{PythonManifest, manifest_path},
            outcomes::SLOTS,
            tensors::PythonTensors,
            tokens::{self, PythonTokens},
        },
        settings::{EngineSettings, NodeSettings},
        shared_args::Given,
    },
    ground::{error::EngineError, range::MILLISECOND},
    model::{identity::Model, sampling_seed::SamplingSeed},
    worker::{
        declaration::{Declaration, DeclaredModel},
        memory::SharedMemory,
        start::{Loaded, LoadingWorker, WorkerSettings, declare},
    },
};

/// Keys of the engine `python`.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Python")]
pub struct PythonArgs {
    /// Interpreter, such as bin/python of a virtual environment
    #[arg(long, value_name = "FILE", default_value = "python3")]
    pub python: PathBuf,
}

/// Settings of the engine `python`.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename = "python")]
pub struct PythonConfig {
    /// File with the engine's class.
    #[serde(skip)]
    pub file: PathBuf,
    /// Interpreter.
    #[serde(skip)]
    pub python: PathBuf,
    /// Maximum time to load the engine.
    #[serde(skip)]
    pub start_timeout: Duration,
    /// Number of threads of an instance.
    pub threads: usize,
    /// Number from which the seed of each sample is derived; `None` without seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_seed: Option<SamplingSeed>,
    /// Model that the engine runs.
    pub model: PythonModel,
}

/// Description of the model of an engine in Python.
#[derive(Debug, Clone, Serialize)]
pub struct PythonModel {
    /// Declaration of the engine, from the attributes of its class.
    #[serde(flatten)]
    pub declaration: Declaration,
    /// Facts from the manifest beside the engine's file; `None` without a manifest.
    #[serde(flatten)]
    pub manifest: Option<PythonManifest>,
}

/// Default of `--engine-start-timeout`: large models load for minutes.
const START_TIMEOUT: TimeSpan = TimeSpan::from_millis(600_000);

impl PythonConfig {
    pub(in crate::engine) const KEYS: &[&str] =
        &["model", "threads", "scenario", "batch_timeout", "engine_start_timeout", "sampling_seed"];

    /// Asks the engine's file for its declaration, and reads the manifest beside it. Fails with the
    /// file, the line and the fix.
    pub(in crate::engine) fn resolve(
        keys: &PythonArgs,
        given: &mut Given<'_>,
    ) -> anyhow::Result<Self> {
        let missing = "python needs --model, the file with the engine's class (docs/ENGINES.md)";
        let file = given.shared.model.as_deref().context(missing)?;
        let (threads, start_timeout) = (given.threads()?, given.start_timeout(START_TIMEOUT)?);
        let python = keys.python.clone();
        let declaration = if given.runs_code {
            declare(&python, file).map_err(anyhow::Error::msg)?
        } else {
            files::check(file, u64::MAX)
                .map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))?;
            given.longest_output = Some(0);
            Declaration::unknown()
        };
        let (most, shown) = (declaration.max_batch, file.display());
        if let Some(asked) = given.batching.max_batch.filter(|asked| *asked > most) {
            bail!(
                "--max-batch {asked}: {shown} declares max_batch = {most}; raise it there, or lower --max-batch"
            );
        }
        ensure!(
            given.batching.batch_timeout.is_none() || !declaration.is_language_model(),
            "--batch-timeout is for `infer`, but {shown} has `generate`, whose requests do not wait for others; remove the option"
        );
        let manifest = PythonManifest::read(file, &declaration)?;
        match (&manifest, given.shared.scenario) {
            (Some(manifest), _) => given.add_batching(&manifest.batching, &manifest.path)?,
            (None, None) => {}
            (None, Some(scenario)) => {
                bail!(
                    "--scenario {scenario}: there is no manifest {}",
                    manifest_path(file).display()
                )
            }
        }
        given.default_batching = (most, MILLISECOND);
        if let DeclaredModel::Tokens { served, .. } = &declaration.model {
            given.default_batching.1 = TimeSpan::ZERO;
            given.longest_output = Some(served.max_tokens);
        }
        let seed = given.shared.sampling_seed;
        let sampling_seed = match &declaration.model {
            DeclaredModel::Tokens { served, .. } => SamplingSeed::of(seed, served)?,
            DeclaredModel::Tensors(_) if given.runs_code && seed.is_some() => {
                bail!(
                    "--sampling-seed is for `generate`, but {shown} has `infer`; remove the option"
                )
            }
            DeclaredModel::Tensors(_) => seed.map(SamplingSeed),
        };
        let (file, model) = (file.to_path_buf(), PythonModel { declaration, manifest });
        Ok(Self { file, python, start_timeout, threads, sampling_seed, model })
    }
}

impl EngineSettings for PythonConfig {
    fn load(&self, node: &NodeSettings) -> Result<(Model, Vec<EngineKind>), EngineError> {
        let (declaration, file) = (&self.model.declaration, self.file.display());
        let bytes = memory_bytes(declaration, node);
        let memory = (0..node.instances).map(|_| {
            SharedMemory::new(bytes).map_err(|error| {
                let why = format!("{bytes} bytes of shared memory: {error}{}", remedy(&error));
                EngineError::Start(format!("{file}: {why}; lower max_batch of the class"))
            })
        });
        let memory = memory.collect::<Result<Vec<_>, _>>()?;
        info!(bytes, instances = node.instances, "reserved shared memory of each instance");
        let start = |instance| {
            let settings = WorkerSettings {
                python: &self.python,
                file: &self.file,
                threads: self.threads,
                instance,
                instances: node.instances,
                max_batch: node.batching.max_batch,
                start_timeout: self.start_timeout,
                trial_timeout: node.engine_timeout,
            };
            LoadingWorker::start(settings, false)
        };
        // All workers import the file, load and try the engine at the same time.
        let loading = (0..node.instances).map(start).collect::<Result<Vec<_>, _>>();
        let loading = loading.map_err(EngineError::Start)?;
        for (worker, memory) in loading.iter().zip(&memory) {
            worker.share(memory);
            if worker.declaration().map_err(EngineError::Start)? != *declaration {
                let why = format!("{file}: its declaration has changed; start the node again");
                return Err(EngineError::Start(why));
            }
        }
        let begun = Instant::now();
        let (mut engines, mut loaded) = (Vec::new(), None::<Loaded>);
        for (worker, memory) in loading.into_iter().zip(memory) {
            let (engine, facts) = open(worker, memory, begun, self, node)?;
            engines.push(engine);
            loaded.get_or_insert(facts);
        }
        let facts = loaded.map(|facts| (facts.to_string(), facts.sha256));
        let (facts, sha256) = facts.unwrap_or_default();
        let framework = match declaration.framework.as_str() {
            "" => facts,
            framework => format!("{framework}; {facts}"),
        };
        let sampling_seed = self.sampling_seed;
        let mut model = Model { framework, sha256, sampling_seed, ..model(declaration) };
        if let Some(manifest) = &self.model.manifest {
            let (path, weights) = (manifest.path.display(), manifest.weights.as_deref());
            info!(manifest = %path, precision = manifest.precision, weights, "loaded");
            model.encodings = manifest.encodings.clone().unwrap_or(model.encodings);
        }
        Ok((model, engines))
    }
}

/// Waits for a worker, and makes an instance of it.
fn open(
    worker: LoadingWorker<'_>,
    memory: SharedMemory,
    begun: Instant,
    settings: &PythonConfig,
    node: &NodeSettings,
) -> Result<(EngineKind, Loaded), EngineError> {
    let (worker, facts) = worker.finish(begun).map_err(EngineError::Start)?;
    let declaration = &settings.model.declaration;
    let engine = match &declaration.model {
        DeclaredModel::Tensors(model) => {
            let most = declaration.max_batch;
            let slot_bytes = model.slot_bytes(most).unwrap_or(u64::MAX);
            let engine = PythonTensors::new(worker, memory, model.clone(), most, slot_bytes);
            EngineKind::Batched(Box::new(engine?))
        }
        DeclaredModel::Tokens { served, .. } => {
            let (served, seed) = (served.clone(), settings.sampling_seed);
            EngineKind::waiting(PythonTokens::new(worker, memory, served, seed, node))?
        }
    };
    Ok((engine, facts))
}

/// Returns the size of the memory that an instance shares with its worker, in bytes.
fn memory_bytes(declaration: &Declaration, node: &NodeSettings) -> u64 {
    let bytes = match &declaration.model {
        DeclaredModel::Tensors(model) => {
            let slot_bytes = model.slot_bytes(declaration.max_batch).unwrap_or(u64::MAX);
            slot_bytes.saturating_mul(SLOTS as u64)
        }
        DeclaredModel::Tokens { served, .. } => {
            tokens::slot_bytes(served) * node.batching.max_batch as u64
        }
    };
    bytes.max(1)
}

fn model(declaration: &Declaration) -> Model {
    match &declaration.model {
        DeclaredModel::Tensors(model) => Model {
            name: model.name.clone(),
            input: model.layout(),
            answer_bytes: model.row_bytes(&model.output).unwrap_or(0),
            token_counts: model.counts_tokens,
            ..Model::any_bytes("python")
        },
        DeclaredModel::Tokens { served, prefix_caching } => Model {
            found: Some(EngineFacts { prefix_caching: *prefix_caching, context_tokens: None }),
            ..Model::of_language("python", served)
        },
    }
}
