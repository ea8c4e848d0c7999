//! Creates the workload, the pre- and post-processing of samples, with its own threads, and describes
//! its model.

use std::sync::Arc;

use rayon::ThreadPoolBuilder;

use crate::{
    engine::settings::model_sha256,
    ground::error::EngineError,
    model::{identity::Model, manifest::Manifest, workload::Workload, workloads::of_manifest},
};

/// Creates the workload that a manifest names. `threads` threads decode and post-process.
pub(super) fn workload(
    manifest: &Arc<Manifest>,
    threads: usize,
) -> Result<Arc<dyn Workload>, EngineError> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("workload-{number}"))
        .build()
        .map_err(|error| EngineError::Failed(error.to_string()))?;
    of_manifest(manifest, &Arc::new(pool))
        .map_err(|why| EngineError::unsupported(manifest.model.display(), why))
}

/// Describes the model of a manifest. Reads the file of the model.
pub(super) fn describe(
    engine: &str,
    manifest: &Manifest,
    workload: &Arc<dyn Workload>,
) -> Result<Model, EngineError> {
    Ok(Model {
        name: manifest.name.clone(),
        sha256: model_sha256(&manifest.model)?,
        input: workload.layout(),
        encodings: manifest.encodings.clone(),
        workload: Some(workload.clone()),
        ..Model::any_bytes(engine)
    })
}
