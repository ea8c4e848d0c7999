//! Loads the engine `openai`.

use std::sync::Arc;

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
            tasks::Tasks,
        },
        served::{
            client::OpenAiClient, exchange::OpenAiExchange, probe::probe, settings::ServedConfig,
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
        connection_limits::check(&self.servers, node)?;
        if !self.servers.start_timeout.is_zero() {
            wait_for_all(self)?;
        }
        let probed = probe(self).map_err(|error| match error {
            EngineError::Failed(why) if why.contains(NO_ANSWER) => {
                EngineError::Failed(format!("{why}; {LOADING_HINT}"))
            }
            error => error,
        })?;
        let (settings, servers) =
            (Arc::new(self.clone()), Arc::new(Servers::new(&self.servers.urls)));
        let engine = |_| {
            let exchange = || OpenAiExchange::new(settings.clone(), servers.clone());
            EngineKind::waiting(Tasks::new("served", node.batching.max_batch, exchange))
        };
        let engines = (0..node.instances).map(engine).collect::<Result<_, EngineError>>()?;
        let model = Model {
            framework: probed.framework,
            found: Some(EngineFacts {
                prefix_caching: probed.prefix_caching,
                context_tokens: probed.context_tokens,
            }),
            servers: servers.counts(),
            sampling_seed: self.sampling_seed,
            ..Model::of_language("openai", &self.model)
        };
        Ok((model, engines))
    }
}

/// Waits until every server is ready.
pub(super) fn wait_for_all(settings: &ServedConfig) -> Result<(), EngineError> {
    let client = OpenAiClient::new(settings);
    let ServersConfig { timeout: time, start_timeout, ref urls, .. } = settings.servers;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    for server in Servers::new(urls).all() {
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
