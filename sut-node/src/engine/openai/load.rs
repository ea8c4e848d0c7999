//! Makes the instances.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
};

use crate::{
    engine::{
        error::EngineError,
        interface::EngineKind,
        openai::{
            engine::Openai,
            exchange::Exchange,
            probe::{Found, probe},
            servers::Servers,
        },
    },
    model::{identity::Model, token_limits::TokenLimits},
    settings::{config::Config, openai::OpenaiConfig},
};

/// Asks the servers whether they can be used, and makes the instances.
pub(crate) fn load(
    settings: &Arc<OpenaiConfig>,
    config: &Config,
) -> Result<(Model, Vec<EngineKind>), EngineError> {
    let found = probe(settings)?;
    let servers = Arc::new(Servers::new(&settings.urls));
    let said = Arc::new(AtomicBool::new(false));
    let engine = |_| {
        let exchange = Exchange::new(settings.clone());
        let slots = config.batching.max_batch;
        let engine = Openai::new(exchange, servers.clone(), slots, said.clone());
        let engine = engine.map_err(|error| EngineError::Failed(error.to_string()))?;
        Ok(EngineKind::Streaming(Box::new(engine)))
    };
    let engines = (0..config.instances).map(engine).collect::<Result<_, EngineError>>()?;
    Ok((model(settings, found), engines))
}

fn model(settings: &OpenaiConfig, found: Found) -> Model {
    let served = &settings.model;
    let limits = TokenLimits { vocabulary: served.vocabulary, max_input: served.max_input_tokens };
    Model {
        framework: found.framework,
        name: served.name.clone(),
        sha256: served.sha256.clone(),
        found: BTreeMap::from([("prefix_caching", found.prefix_caching.to_string())]),
        ..Model::of_tokens("openai", limits)
    }
}
