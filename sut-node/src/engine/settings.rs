//! Interface between a node's settings and those of its engine.

use std::{io, path::Path, sync::Arc, time::Duration};

use netdiv_contract::encoding::Encoding;
use netdiv_node_common::resources::files;
use rayon::ThreadPoolBuilder;
use serde::Serialize;

use crate::{
    batching::batcher::BatchLimits,
    engine::interface::EngineKind,
    ground::{error::EngineError, serialized::milliseconds},
    model::{identity::Model, manifest::Manifest, workload::Workload, workloads::of_manifest},
    sample::token_room::TokenRoom,
};

/// Settings of a node that concern samples on their way through its engines.
#[derive(Debug, Clone, Serialize)]
pub struct NodeSettings {
    /// Number of engine instances on each device.
    pub instances: usize,
    /// Maximum number of samples in flight; `None`: four batches for each engine instance.
    pub max_in_flight_samples: Option<u32>,
    /// Maximum number of payload bytes in flight.
    pub max_in_flight_bytes: u32,
    /// Maximum number of tokens in flight; `None`: no limit.
    pub max_in_flight_tokens: Option<TokenRoom>,
    /// Maximum size of a sample's decoded payload, in bytes.
    pub max_payload_bytes: usize,
    /// Encoding of responses.
    pub response_encoding: Encoding,
    /// Number of threads that serve connections.
    pub io_threads: usize,
    /// Cores that the I/O threads are bound to, in turn; empty: any.
    pub pin: Vec<usize>,
    /// Set if the I/O threads poll instead of sleeping.
    pub busy_poll: bool,
    /// Maximum time that an engine spends on a batch before the node reports that it is unwell.
    #[serde(rename = "engine_timeout_ms", serialize_with = "milliseconds")]
    pub engine_timeout: Duration,
    /// Maximum time that a shutdown waits for samples in flight.
    #[serde(rename = "drain_timeout_ms", serialize_with = "milliseconds")]
    pub drain_timeout: Duration,
    /// Settings of the batcher.
    #[serde(flatten)]
    pub batching: BatchLimits,
    /// Maximum number of connections from clients.
    #[serde(skip)]
    pub max_connections: usize,
}

/// Settings of an engine, after they were checked and the defaults filled in.
pub(crate) trait EngineSettings {
    /// Returns the addresses of the serving engines, as HOST:PORT; empty for an engine that needs
    /// no serving engine.
    fn serving_engines(&self) -> Vec<String> {
        Vec::new()
    }

    /// Fails for invalid files and settings, as far as this can be detected without loading the
    /// model or asking a server.
    fn check(&self, _node: &NodeSettings) -> Result<(), EngineError> {
        Ok(())
    }

    /// Creates the instances of the engine, which share the model's weights. Returns the
    /// description of the model, and the instances. The caller is within a runtime.
    fn load(&self, node: &NodeSettings) -> Result<(Model, Vec<EngineKind>), EngineError>;
}

/// Fails if the file of a model is missing or unreadable.
pub(super) fn check_model_file(path: &Path) -> Result<(), EngineError> {
    files::check(path, u64::MAX).map_err(|error| unreadable(path, error))
}

/// Returns the SHA-256 of the file of a model, in hex.
pub(super) fn model_sha256(path: &Path) -> Result<String, EngineError> {
    files::sha256(path).map_err(|error| unreadable(path, error))
}

pub(super) fn unreadable(path: &Path, error: io::Error) -> EngineError {
    EngineError::Start(format!("cannot read the model {}: {error}", path.display()))
}

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
