//! The engine `torch` and other plug-ins: loads the model, and places the instances on devices.

use std::{
    iter,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use netdiv_contract::layout::{InputLayout, fixed_bytes};
use netdiv_node_common::words::count;
use netdiv_plugin::{InstanceRoom, PluginModelSettings, PluginTokenSettings};
use tracing::{info, warn};

use crate::{
    engine::{
        interface::{Engine, EngineKind},
        plugin::{
            open::{check, place},
            package::{self, COMPILER, is_package},
            run::PluginEngine,
            settings::{PluginConfig, PluginModelConfig, TensorPluginConfig},
            tokens::{TokenEngine, cannot_start},
        },
        settings::{
            EngineSettings, NodeSettings, check_model_file, describe, model_sha256, workload,
        },
    },
    ground::{error::EngineError, metrics},
    model::{identity::Model, language::LanguageModel, workload::Workload},
};

impl EngineSettings for PluginConfig {
    fn check(&self, node: &NodeSettings) -> Result<(), EngineError> {
        check(&self.file)?;
        match &self.model {
            PluginModelConfig::Tensors(settings) => {
                workload_of(settings, node)?;
                check_model_file(&settings.manifest.model)
            }
            PluginModelConfig::Tokens { model } => check_model_file(&model.file),
        }
    }

    fn load(&self, node: &NodeSettings) -> Result<(Model, Vec<EngineKind>), EngineError> {
        match &self.model {
            PluginModelConfig::Tensors(settings) => load_tensors(self, settings, node),
            PluginModelConfig::Tokens { model } => load_tokens(self, model, node),
        }
    }
}

/// Loads the plug-in, loads the model onto each device, and opens the instances. Returns the
/// description of the model, and the instances.
fn load_tensors(
    config: &PluginConfig,
    settings: &TensorPluginConfig,
    node: &NodeSettings,
) -> Result<(Model, Vec<EngineKind>), EngineError> {
    let manifest = &settings.manifest;
    let workload = workload_of(settings, node)?;
    let model = describe("", manifest, &workload)?;
    let length_steps = workload.length_steps(&node.batching.buckets);
    let known_lengths = manifest.free() == 0 || !length_steps.is_empty();
    let (plugin, places) = place(config, node)?;
    let is_sample = workload.row_steps(&[1]) == [1];
    // Padded batches could exceed the operator's limit on tokens.
    let is_free = settings.batch_sizes.is_empty() && node.batching.max_tokens.is_none();
    let batch_sizes = (places.new_sizes_stall && known_lengths && is_sample && is_free)
        .then(|| powers_of_two(node.batching.max_batch));
    if let Some(sizes) = &batch_sizes {
        info!(
            ?sizes,
            "padding batches to these sizes, because new sizes would stall; choose others with --batch-sizes"
        );
    }
    let settings = &TensorPluginConfig {
        batch_sizes: batch_sizes.clone().unwrap_or_else(|| settings.batch_sizes.clone()),
        ..settings.clone()
    };
    let row_steps = workload.row_steps(&settings.batch_sizes);

    let engines = places.fill(
        |device, threads| {
            let model = plugin.load(PluginModelSettings {
                path: manifest.model.clone(),
                device: device.into(),
                precision: manifest.precision,
                threads,
                fixed_shapes: !row_steps.is_empty() && known_lengths,
                inputs: manifest.inputs.iter().map(|shape| shape.spec()).collect(),
                outputs: manifest.outputs.iter().map(|shape| shape.spec()).collect(),
            });
            let model =
                model.map_err(|error| EngineError::unsupported(manifest.model.display(), error))?;
            let weights = &manifest.weights;
            info!(device, model = manifest.name, weights, instances = node.instances, "loaded");
            Ok(model)
        },
        |_, model| {
            let (settings, workload) = (settings.clone(), workload.clone());
            let engine = PluginEngine::new(model.open()?, settings, workload, &node.batching)?;
            Ok(Box::new(engine) as Box<dyn Engine>)
        },
    )?;
    let batches: usize = engines.iter().map(|engine| engine.max_in_flight()).sum();
    if let Some(why) = starvation_warning(
        &workload.layout(),
        |sample| workload.working_bytes(sample),
        batches,
        node,
    ) {
        warn!("{why}");
    }
    let compiler = if is_package(&manifest.model, &config.file) { COMPILER } else { "" };
    let (engine, framework) =
        (plugin.name().into(), format!("{} {}{compiler}", plugin.name(), plugin.version()));
    let engines = engines.into_iter().map(EngineKind::Batched).collect();
    Ok((Model { engine, framework, batch_sizes, ..model }, engines))
}

/// Like [`load_tensors`], for a language model.
fn load_tokens(
    config: &PluginConfig,
    asked: &Arc<LanguageModel>,
    node: &NodeSettings,
) -> Result<(Model, Vec<EngineKind>), EngineError> {
    let served = &asked.served;
    if is_package(&asked.file, &config.file) {
        let why =
            "a package cannot compute prompts; name the .pt file, and keep the package beside it";
        return Err(EngineError::unsupported(asked.file.display(), why));
    }
    let sha256 = model_sha256(&asked.file)?;
    if let Some(why) = served.weights_mismatch(&sha256, "manifest") {
        return Err(EngineError::unsupported(asked.file.display(), why));
    }
    let (plugin, places) = place(config, node)?;
    let package = package::beside(&asked.file, &config.file);
    let package_sha256 = package.as_deref().map(model_sha256).transpose()?;
    let runs_package = AtomicBool::new(false);
    let mut all = InstanceRoom { slots: 0, cache_bytes: 0 };
    let engines = places.fill(
        |device, threads| {
            let settings = PluginTokenSettings {
                path: asked.file.clone(),
                device: device.into(),
                precision: asked.precision,
                threads,
                vocabulary: served.vocabulary,
                longest_prompt: served.max_input_tokens,
                longest_output: served.max_tokens,
                slots: asked.slots,
                chunk: asked.chunk,
                cache_bytes: u64::from(asked.cache_mib) << 20,
                beams: asked.beams,
                ends: served.eos.iter().map(|id| *id as i32).collect(),
            };
            let (model, compiled) = package::load(&plugin, package.as_deref(), settings)
                .map_err(|error| cannot_start(asked, error))?;
            runs_package.fetch_or(compiled, Ordering::Relaxed);
            Ok(model)
        },
        |device, model| {
            let instance = model.open().map_err(|error| cannot_start(asked, error))?;
            let InstanceRoom { slots, cache_bytes } = instance.room();
            let (model, weights) = (&served.name, &asked.weights);
            info!(device, model, weights, slots, cache_bytes, "loaded");
            all.slots += slots;
            all.cache_bytes = all.cache_bytes.saturating_add(cache_bytes);
            let engine = TokenEngine::new(instance, asked.clone(), node.engine_timeout);
            Ok(EngineKind::Streaming(Box::new(engine)))
        },
    )?;
    metrics::token_room(all.slots, all.cache_bytes);
    let compiler = match package_sha256.filter(|_| runs_package.into_inner()) {
        Some(sha256) => format!("{COMPILER} (package {sha256})"),
        None => String::new(),
    };
    let model = Model {
        framework: format!("{} {}{compiler}", plugin.name(), plugin.version()),
        sha256,
        ..Model::of_language(plugin.name(), served)
    };
    Ok((model, engines))
}

/// Creates the workload (the pre- and post-processing of samples). Fails if the workload does not
/// support the settings of batches.
fn workload_of(
    settings: &TensorPluginConfig,
    node: &NodeSettings,
) -> Result<Arc<dyn Workload>, EngineError> {
    let workload = workload(&settings.manifest, settings.workload_threads)?;
    check_batching(workload.as_ref(), settings, node)
        .map_err(|why| EngineError::unsupported(settings.manifest.model.display(), why))?;
    Ok(workload)
}

/// Returns the powers of two below the largest batch, and the largest batch itself.
fn powers_of_two(largest: usize) -> Vec<usize> {
    let powers = iter::successors(Some(1_usize), |size| size.checked_mul(2));
    powers.take_while(|size| *size < largest).chain([largest]).collect()
}

/// Fails if the workload does not support the settings of batches.
fn check_batching(
    workload: &dyn Workload,
    settings: &TensorPluginConfig,
    node: &NodeSettings,
) -> Result<(), String> {
    let name = &settings.manifest.workload;
    let batching = &node.batching;
    if workload.lengths().is_none()
        && (batching.max_tokens.is_some() || !batching.buckets.is_empty())
    {
        return Err(format!(
            "samples of {name} have no length; remove --buckets and --max-batch-tokens"
        ));
    }
    if workload.row_steps(&[1]) != [1] && !settings.batch_sizes.is_empty() {
        return Err(format!(
            "a row of the model is not one sample of {name}; remove --batch-sizes"
        ));
    }
    Ok(())
}

/// Returns a warning if the node accepts fewer bytes than `batches` batches in flight and one more
/// incoming batch need. Returns `None` if samples have no fixed length.
fn starvation_warning(
    layout: &InputLayout,
    working_bytes: impl Fn(u64) -> u64,
    batches: usize,
    node: &NodeSettings,
) -> Option<String> {
    let sample = layout.tensors.iter().map(fixed_bytes).sum::<Option<usize>>()? as u64;
    let sample = sample + working_bytes(sample);
    let needed = sample * (node.batching.max_batch * (batches + 1)) as u64;
    let room = u64::from(node.max_in_flight_bytes);
    (sample > 0 && needed > room).then(|| {
        format!(
            "--max-in-flight-bytes {room} has room for {} of {sample} bytes, but batches of {} need {needed} bytes, with {batches} in flight \
             and one incoming: engines will wait for samples. Set it to {needed}, or lower --max-batch",
            count((room / sample) as usize, "sample"),
            count(node.batching.max_batch, "sample"),
        )
    })
}

#[cfg(test)]
mod tests {
    use netdiv_contract::layout::{DataType, TensorSpec};

    use super::*;
    use crate::settings::args::Args;

    #[test]
    fn default_sizes_are_powers_of_two_up_to_the_largest_batch() {
        assert_eq!(powers_of_two(1), [1]);
        assert_eq!(powers_of_two(32), [1, 2, 4, 8, 16, 32]);
        assert_eq!(powers_of_two(48), [1, 2, 4, 8, 16, 32, 48]);
    }

    #[test]
    fn a_node_with_too_little_room_for_its_batches_says_how_much_they_need() {
        let image = TensorSpec {
            name: "image".into(),
            data_type: DataType::Uint8 as i32,
            shape: vec![800, 800, 3],
        };
        let layout = |tensors| InputLayout { tensors };
        let mut node = Args::of("engine = 'echo'\nmax_batch = 64").resolve().unwrap().node;
        // 256 MiB hold two batches of RetinaNet's 64 images. The third has to arrive while two are
        // in flight.
        let why = starvation_warning(&layout(vec![image.clone()]), |_| 0, 2, &node).unwrap();
        assert!(
            why.contains("has room for 139 samples of") && why.contains("Set it to 368640000"),
            "{why}"
        );
        node.max_in_flight_bytes = 368_640_000;
        assert_eq!(starvation_warning(&layout(vec![image.clone()]), |_| 0, 2, &node), None);
        node.max_in_flight_bytes = 1;
        let free = TensorSpec { shape: vec![-1, 3], ..image.clone() };
        assert_eq!(starvation_warning(&layout(vec![image, free]), |_| 0, 2, &node), None);
        assert_eq!(starvation_warning(&layout(Vec::new()), |_| 0, 2, &node), None);
    }
}
