//! Loads the engine `python`.

use std::time::Instant;

use netdiv_node_common::{resources::remedy, words::EngineFacts};
use tracing::info;

use crate::{
    engine::{
        interface::EngineKind,
        python::{
            outcomes::SLOTS,
            tensors::PythonTensors,
            tokens::{self, PythonTokens},
        },
    },
    ground::error::EngineError,
    model::identity::Model,
    settings::{config::Config, python::PythonConfig},
    worker::{
        declaration::{Declaration, DeclaredModel},
        memory::SharedMemory,
        start::{Loaded, LoadingWorker, WorkerSettings},
    },
};

/// Starts a worker for each instance. Returns the description of the model, and the instances. The
/// caller is within the runtime of the streams.
pub(in crate::engine) fn load(
    settings: &PythonConfig,
    config: &Config,
) -> Result<(Model, Vec<EngineKind>), EngineError> {
    let (declaration, file) = (&settings.model.declaration, settings.file.display());
    let bytes = memory_bytes(declaration, config);
    let memory = (0..config.instances).map(|_| {
        SharedMemory::new(bytes).map_err(|error| {
            let why = format!("{bytes} bytes of shared memory: {error}{}", remedy(&error));
            EngineError::Worker(format!("{file}: {why}; lower max_batch of the class"))
        })
    });
    let memory = memory.collect::<Result<Vec<_>, _>>()?;
    info!(bytes, instances = config.instances, "reserved shared memory of each instance");
    let start = |instance| {
        LoadingWorker::start(WorkerSettings {
            python: &settings.python,
            file: &settings.file,
            threads: settings.threads,
            instance,
            instances: config.instances,
            max_batch: config.batching.max_batch,
            start_timeout: settings.start_timeout,
        })
    };
    // All workers import the file, load and try the engine at the same time.
    let loading = (0..config.instances).map(start).collect::<Result<Vec<_>, _>>();
    let loading = loading.map_err(EngineError::Worker)?;
    for (worker, memory) in loading.iter().zip(&memory) {
        worker.share(memory);
        if worker.declaration().map_err(EngineError::Worker)? != *declaration {
            let why = format!("{file}: its declaration has changed; start the node again");
            return Err(EngineError::Worker(why));
        }
    }
    let begun = Instant::now();
    let (mut engines, mut loaded) = (Vec::new(), None::<Loaded>);
    for (worker, memory) in loading.into_iter().zip(memory) {
        let (engine, facts) = open(worker, memory, begun, declaration, config)?;
        engines.push(engine);
        loaded.get_or_insert(facts);
    }
    let sha256 = loaded.as_ref().map(|facts| facts.sha256.clone());
    let facts = loaded.map(|facts| facts.to_string()).unwrap_or_default();
    let framework = match declaration.framework.as_str() {
        "" => facts,
        framework => format!("{framework}; {facts}"),
    };
    let sha256 = sha256.unwrap_or_default();
    let mut model = Model { framework, sha256, ..model(declaration) };
    if let Some(manifest) = &settings.model.manifest {
        let (path, weights) = (manifest.path.display(), manifest.weights.as_deref());
        info!(manifest = %path, precision = manifest.precision, weights, "loaded");
        model.encodings = manifest.encodings.clone().unwrap_or(model.encodings);
    }
    Ok((model, engines))
}

/// Waits for a worker, and makes an instance of it.
fn open(
    worker: LoadingWorker<'_>,
    memory: SharedMemory,
    begun: Instant,
    declaration: &Declaration,
    config: &Config,
) -> Result<(EngineKind, Loaded), EngineError> {
    let (worker, facts) = worker.finish(begun).map_err(EngineError::Worker)?;
    let engine = match &declaration.model {
        DeclaredModel::Tensors(model) => {
            let most = declaration.max_batch;
            let slot_bytes = model.slot_bytes(most).unwrap_or(u64::MAX);
            let engine = PythonTensors::new(worker, memory, model.clone(), most, slot_bytes);
            EngineKind::Batched(Box::new(engine.map_err(EngineError::Thread)?))
        }
        DeclaredModel::Tokens { served, .. } => {
            let slots = config.batching.max_batch;
            let engine =
                PythonTokens::new(worker, memory, served.clone(), slots, config.engine_timeout);
            EngineKind::waiting(engine)?
        }
    };
    Ok((engine, facts))
}

/// Returns the size of the memory that an instance shares with its worker, in bytes.
fn memory_bytes(declaration: &Declaration, config: &Config) -> u64 {
    let bytes = match &declaration.model {
        DeclaredModel::Tensors(model) => {
            let slot_bytes = model.slot_bytes(declaration.max_batch).unwrap_or(u64::MAX);
            slot_bytes.saturating_mul(SLOTS as u64)
        }
        DeclaredModel::Tokens { served, .. } => {
            tokens::slot_bytes(served) * config.batching.max_batch as u64
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
            ..Model::any_bytes("python")
        },
        DeclaredModel::Tokens { served, prefix_caching } => Model {
            found: Some(EngineFacts { prefix_caching: *prefix_caching, context_tokens: None }),
            ..Model::of_language("python", served)
        },
    }
}
