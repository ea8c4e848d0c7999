//! Loads the engine `openai`.

use std::sync::{Arc, atomic::AtomicBool};

use netdiv_node_common::words::EngineFacts;

use crate::{
    engine::{
        interface::EngineKind,
        remote::servers::Servers,
        served::{
            engine::served,
            exchange::OpenAiExchange,
            probe::{ServedProbe, probe},
        },
    },
    ground::error::EngineError,
    model::identity::Model,
    settings::{config::Config, serving_engines::ServedConfig},
};

/// Checks that the servers are usable. Returns the description of their model, and the instances.
pub(crate) fn load(
    settings: &Arc<ServedConfig>,
    config: &Config,
) -> Result<(Model, Vec<EngineKind>), EngineError> {
    let probed = probe(settings)?;
    let servers = Arc::new(Servers::new(&settings.servers.urls));
    let said = Arc::new(AtomicBool::new(false));
    let engine = |_| {
        let exchange = OpenAiExchange::new(settings.clone());
        let slots = config.batching.max_batch;
        EngineKind::waiting(served(exchange, servers.clone(), slots, said.clone()))
    };
    let engines = (0..config.instances).map(engine).collect::<Result<_, EngineError>>()?;
    Ok((model(settings, probed), engines))
}

fn model(settings: &ServedConfig, probed: ServedProbe) -> Model {
    Model {
        framework: probed.framework,
        found: Some(EngineFacts {
            prefix_caching: probed.prefix_caching,
            context_tokens: probed.context_tokens,
        }),
        ..Model::of_language("openai", &settings.model)
    }
}
