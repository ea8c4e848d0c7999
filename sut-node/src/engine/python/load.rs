//! Loads the engine `python`.

use std::{io, time::Instant};

use netdiv_node_common::words::EngineFacts;
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
        process::Worker,
        start::{Loaded, LoadingWorker, WorkerSettings},
    },
};

/// Starts a worker for each instance. Returns the description of the model, and the instances. The
/// caller is within the runtime of the streams.
pub(in crate::engine) fn load(
    settings: &PythonConfig,
    config: &Config,
) -> Result<(Model, Vec<EngineKind>), EngineError> {
    let loading = (0..config.instances).map(|instance| {
        let worker = LoadingWorker::start(WorkerSettings {
            python: &settings.python,
            file: &settings.file,
            threads: settings.threads,
            instance,
            instances: config.instances,
            start_timeout: settings.start_timeout,
        });
        let worker = worker.map_err(EngineError::Worker)?;
        if worker.declaration != settings.model.declaration {
            let file = settings.file.display();
            let why = format!("{file}: its declaration has changed; start the node again");
            return Err(EngineError::Worker(why));
        }
        Ok(worker)
    });
    // All workers load at the same time.
    let loading = loading.collect::<Result<Vec<_>, _>>()?;
    let begun = Instant::now();
    let declaration = &settings.model.declaration;
    let (mut engines, mut loaded) = (Vec::new(), None::<Loaded>);
    for worker in loading {
        let (engine, facts) = open(worker, begun, declaration, config)?;
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
    begun: Instant,
    declaration: &Declaration,
    config: &Config,
) -> Result<(EngineKind, Loaded), EngineError> {
    let failed = |error: io::Error| EngineError::Worker(format!("the shared memory: {error}"));
    let finish = |bytes: u64| -> Result<(Worker, SharedMemory, Loaded), EngineError> {
        let memory = SharedMemory::new(bytes.max(1)).map_err(failed)?;
        let (worker, facts) = worker.finish(begun, &memory).map_err(EngineError::Worker)?;
        Ok((worker, memory, facts))
    };
    match &declaration.model {
        DeclaredModel::Tensors(model) => {
            let most = declaration.max_batch;
            let slot_bytes = model.slot_bytes(most).unwrap_or(u64::MAX);
            let (worker, memory, facts) = finish(slot_bytes.saturating_mul(SLOTS as u64))?;
            let engine = PythonTensors::new(worker, memory, model.clone(), most, slot_bytes);
            Ok((EngineKind::Batched(Box::new(engine.map_err(failed)?)), facts))
        }
        DeclaredModel::Tokens { served, .. } => {
            let slots = config.batching.max_batch;
            let (worker, memory, facts) = finish(tokens::slot_bytes(served) * slots as u64)?;
            let engine =
                PythonTokens::new(worker, memory, served.clone(), slots, config.engine_timeout);
            Ok((EngineKind::waiting(engine)?, facts))
        }
    }
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
