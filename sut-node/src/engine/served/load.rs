//! Loads the engine `openai`.

use std::sync::{Arc, atomic::AtomicBool};

use netdiv_node_common::words::EngineFacts;
use tokio::{runtime::Builder, time::timeout};

use crate::{
    engine::{
        interface::EngineKind,
        remote::{
            connection_limits,
            refusal::NO_ANSWER,
            server_settings::ServersConfig,
            servers::Servers,
            start::{LOADING_HINT, wait_until_ready},
        },
        served::{
            exchange::{OpenAiExchange, served},
            openai::client::OpenAiClient,
            probe::{ServedProbe, probe},
            settings::ServedConfig,
        },
        settings::{EngineSettings, NodeSettings},
    },
    ground::error::EngineError,
    model::identity::Model,
};

impl EngineSettings for ServedConfig {
    fn serving_engines(&self) -> Vec<String> {
        self.servers.addresses()
    }

    fn load(&self, node: &NodeSettings) -> Result<(Model, Vec<EngineKind>), EngineError> {
        let settings = &Arc::new(self.clone());
        let servers = Arc::new(Servers::new(&settings.servers.urls));
        connection_limits::check(&settings.servers, node)?;
        if !settings.servers.start_timeout.is_zero() {
            wait_for_all(settings, &servers)?;
        }
        let probed = probe(settings).map_err(|error| match error {
            EngineError::Failed(why) if why.contains(NO_ANSWER) => {
                EngineError::Failed(format!("{why}; {LOADING_HINT}"))
            }
            error => error,
        })?;
        let said = Arc::new(AtomicBool::new(false));
        let engine = |_| {
            let exchange = OpenAiExchange::new(settings.clone());
            let slots = node.batching.max_batch;
            EngineKind::waiting(served(exchange, servers.clone(), slots, said.clone()))
        };
        let engines = (0..node.instances).map(engine).collect::<Result<_, EngineError>>()?;
        Ok((Model { servers: servers.counts(), ..model(settings, probed) }, engines))
    }
}

/// Waits until every server is ready.
pub(super) fn wait_for_all(
    settings: &Arc<ServedConfig>,
    servers: &Servers,
) -> Result<(), EngineError> {
    let client = OpenAiClient::new(settings);
    let ServersConfig { timeout: time, start_timeout, .. } = settings.servers;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    for server in servers.all() {
        let ask = async || match timeout(time, client.check_ready(server)).await {
            Ok(answer) => answer,
            Err(_) => Err("no answer within --url-timeout".into()),
        };
        runtime
            .block_on(wait_until_ready(server, start_timeout, ask))
            .map_err(|why| EngineError::Failed(format!("{server}: {why}")))?;
    }
    runtime.shutdown_background();
    Ok(())
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
