//! Loads plug-ins for language models, and places the instances on devices.

use netdiv_plugin::{InstanceRoom, PluginTokenSettings};
use tracing::info;

use crate::{
    engine::{
        interface::EngineKind,
        plugin::{
            open::{Placement, open},
            settings::TokenPluginConfig,
            tokens::{TokenEngine, cannot_start},
        },
        settings::{NodeSettings, model_sha256},
    },
    ground::{error::EngineError, metrics},
    model::identity::Model,
};

/// Loads the plug-in, loads the model onto each device, and opens the instances. Returns the
/// description of the model, and the instances.
pub(super) fn load_tokens(
    settings: &TokenPluginConfig,
    node: &NodeSettings,
) -> Result<(Model, Vec<EngineKind>), EngineError> {
    let (asked, served) = (&settings.model, &settings.model.served);
    let sha256 = model_sha256(&asked.file)?;
    if let Some(why) = served.weights_mismatch(&sha256, "manifest") {
        return Err(EngineError::unsupported(asked.file.display(), why));
    }
    let (plugin, _) = open(&settings.file)?;
    let places = Placement::choose(&plugin, &settings.devices, settings.threads, node.instances)?;
    let mut all = InstanceRoom { slots: 0, cache_bytes: 0 };
    let engines = places.fill(
        |device, threads| {
            let model = plugin.load_tokens(PluginTokenSettings {
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
            });
            model.map_err(|error| cannot_start(asked, error))
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
    let model = Model {
        framework: format!("{} {}", plugin.name(), plugin.version()),
        sha256,
        ..Model::of_language(plugin.name(), served)
    };
    Ok((model, engines))
}
