//! Engines in shared libraries: loading, and which instance runs where.

use std::sync::Arc;

use netdiv_plugin::Settings;
use netdiv_resources::files;
use rayon::ThreadPoolBuilder;
use tracing::info;

use crate::{
    engine::{
        error::EngineError,
        interface::Engine,
        plugin::{
            open::{Places, open},
            run::PluginEngine,
        },
    },
    model::{identity::Model, workload::Workload, workloads::by_name::of_manifest},
    settings::{config::Config, engine::PluginConfig},
};

/// Loads the plug-in, brings the model onto each device, and opens the instances.
pub(in crate::engine) fn load(
    settings: &PluginConfig,
    config: &Config,
) -> Result<(Model, Vec<Box<dyn Engine>>), EngineError> {
    let manifest = &settings.manifest;
    let path = manifest.model.display().to_string();
    let unsupported = |why| EngineError::Unsupported { path: path.clone(), why };
    let sha256 = files::sha256(&manifest.model)
        .map_err(|error| EngineError::Unreadable { path: path.clone(), error })?;
    let cannot_start = |error: rayon::ThreadPoolBuildError| EngineError::Failed(error.to_string());
    let pool = ThreadPoolBuilder::new()
        .num_threads(settings.workload_threads)
        .thread_name(|number| format!("workload-{number}"))
        .build()
        .map_err(cannot_start)?;
    let workload = of_manifest(manifest, &Arc::new(pool)).map_err(unsupported)?;
    check_batching(workload.as_ref(), settings, config).map_err(unsupported)?;
    let row_steps = workload.row_steps(&settings.batch_sizes);
    let length_steps = workload.length_steps(&config.batching.buckets);
    let known_lengths = manifest.free() == 0 || !length_steps.is_empty();

    let (plugin, _) = open(&settings.file)?;
    let Places { devices, threads } =
        Places::choose(&plugin, &settings.devices, settings.threads, config.instances)?;
    let mut engines: Vec<Box<dyn Engine>> = Vec::new();
    for device in &devices {
        let model = plugin.load(Settings {
            path: manifest.model.clone(),
            device: device.clone(),
            precision: manifest.precision,
            threads,
            fixed_shapes: !row_steps.is_empty() && known_lengths,
            inputs: manifest.inputs.iter().map(|shape| shape.spec()).collect(),
            outputs: manifest.outputs.iter().map(|shape| shape.spec()).collect(),
        });
        let model = model.map_err(|error| unsupported(error.to_string()))?;
        for _ in 0..config.instances {
            let (settings, workload) = (settings.clone(), workload.clone());
            let engine = PluginEngine::new(model.open()?, settings, workload, &config.batching);
            engines.push(Box::new(engine));
        }
        let weights = &manifest.weights;
        info!(device, model = manifest.name, weights, instances = config.instances, "loaded");
    }
    let model = Model {
        framework: format!("{} {}", plugin.name(), plugin.version()),
        name: manifest.name.clone(),
        sha256,
        input: workload.layout(),
        encodings: manifest.encodings.clone(),
        workload: Some(workload),
        ..Model::any_bytes(plugin.name())
    };
    Ok((model, engines))
}

/// Settings of batches that the workload has no use for.
fn check_batching(
    workload: &dyn Workload,
    settings: &PluginConfig,
    config: &Config,
) -> Result<(), String> {
    let name = &settings.manifest.workload;
    let batching = &config.batching;
    if workload.lengths().is_none()
        && (batching.max_tokens.is_some() || !batching.buckets.is_empty())
    {
        return Err(format!(
            "all samples of {name} count alike: no --buckets and no --max-batch-tokens"
        ));
    }
    if workload.row_steps(&[1]) != [1] && !settings.batch_sizes.is_empty() {
        return Err(format!("a row of the model is no sample of {name}: no --batch-sizes"));
    }
    Ok(())
}
