//! Language models in shared libraries: loading, and which instance runs where.

use netdiv_plugin::{TokenRoom, TokenSettings};
use netdiv_resources::files;
use tracing::info;

use crate::{
    engine::{
        error::EngineError,
        interface::StreamingEngine,
        plugin::{
            open::{Places, open},
            tokens::{TokenEngine, cannot_start},
        },
    },
    model::{identity::Model, token_limits::TokenLimits},
    node::metrics,
    settings::{config::Config, token_plugin::TokenPluginConfig},
};

/// Loads the plug-in, brings the model onto each device, and opens the instances.
pub(in crate::engine) fn load_tokens(
    settings: &TokenPluginConfig,
    config: &Config,
) -> Result<(Model, Vec<Box<dyn StreamingEngine>>), EngineError> {
    let (asked, served) = (&settings.model, &settings.model.served);
    let path = asked.file.display().to_string();
    let unsupported = |why| EngineError::Unsupported { path: path.clone(), why };
    let sha256 = files::sha256(&asked.file)
        .map_err(|error| EngineError::Unreadable { path: path.clone(), error })?;
    if !served.sha256.is_empty() && served.sha256 != sha256 {
        let stated = &served.sha256;
        return Err(unsupported(format!(
            "its SHA-256 is {sha256}, and its manifest states {stated}"
        )));
    }
    let (plugin, _) = open(&settings.file)?;
    let Places { devices, threads } =
        Places::choose(&plugin, &settings.devices, settings.threads, config.instances)?;
    let mut engines: Vec<Box<dyn StreamingEngine>> = Vec::new();
    let mut all = TokenRoom { slots: 0, cache_bytes: 0 };
    for device in &devices {
        let model = plugin.load_tokens(TokenSettings {
            path: asked.file.clone(),
            device: device.clone(),
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
        let model = model.map_err(|error| cannot_start(asked, error))?;
        for _ in 0..config.instances {
            let instance = model.open().map_err(|error| cannot_start(asked, error))?;
            let TokenRoom { slots, cache_bytes } = instance.room();
            info!(
                device,
                model = served.name,
                weights = asked.weights,
                slots,
                cache_bytes,
                "loaded"
            );
            all.slots += slots;
            all.cache_bytes = all.cache_bytes.saturating_add(cache_bytes);
            engines.push(Box::new(TokenEngine::new(
                instance,
                asked.clone(),
                config.engine_timeout,
            )));
        }
    }
    metrics::token_room(all.slots, all.cache_bytes);
    let limits = TokenLimits { vocabulary: served.vocabulary, max_input: served.max_input_tokens };
    let model = Model {
        framework: format!("{} {}", plugin.name(), plugin.version()),
        name: served.name.clone(),
        sha256,
        ..Model::of_tokens(plugin.name(), limits)
    };
    Ok((model, engines))
}
