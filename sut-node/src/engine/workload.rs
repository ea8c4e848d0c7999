//! Creates the workload, the pre- and post-processing of samples, with its own threads.

use std::sync::Arc;

use rayon::ThreadPoolBuilder;

use crate::{
    ground::error::EngineError,
    model::{manifest::Manifest, workload::Workload, workloads::factory::of_manifest},
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
    let path = manifest.model.display().to_string();
    of_manifest(manifest, &Arc::new(pool)).map_err(|why| EngineError::Unsupported { path, why })
}
