//! The engine `kserve`, which sends samples to serving engines over gRPC.

use std::sync::Arc;

use netdiv_node_common::{
    process::TimeSpan,
    words::{EngineFacts, PrefixCaching},
};
use serde::Serialize;

use crate::{
    engine::{
        interface::EngineKind,
        kserve::{
            caller::Caller,
            exchange::{KserveExchange, Plan},
            probe::{ExpectedModel, KserveProbe, probe},
        },
        remote::{
            server_settings::{SERVED_BATCHING, SERVER_KEYS, ServersConfig, served_model_file},
            servers::Servers,
            tasks::Tasks,
        },
        settings::{EngineSettings, NodeSettings, check_model_file, describe, workload},
        shared_args::Given,
    },
    ground::error::EngineError,
    model::{
        decoupled::DecoupledModel,
        identity::Model,
        manifest::{Manifest, ModelFile},
    },
};

/// Settings of the engine `kserve`, which sends samples to serving engines over gRPC.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename = "kserve")]
pub struct KserveConfig {
    /// Addresses of the serving engines, with the credentials for them.
    #[serde(flatten)]
    pub servers: ServersConfig,
    /// Model that the serving engines serve.
    pub model: KserveModel,
}

/// Description of the served model.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum KserveModel {
    /// Model of tensors: the serving engine sends one response to each sample.
    Tensors(Arc<Manifest>),
    /// Language model: the serving engine sends the tokens of an output as it generates them.
    Tokens(Arc<DecoupledModel>),
}

impl KserveConfig {
    pub(in crate::engine) const KEYS: &[&str] = &SERVER_KEYS;

    pub(in crate::engine) fn resolve(given: &mut Given<'_>) -> anyhow::Result<Self> {
        let start_timeout = given.start_timeout(TimeSpan::ZERO)?;
        let servers = given.shared.servers.resolve(start_timeout, false)?;
        let path = served_model_file(given.shared.model.as_deref())?;
        let file = ModelFile::read(path)?;
        given.default_batching = SERVED_BATCHING;
        // Only the description of a language model has this key.
        let model = if file.value("vocabulary").is_some() {
            let model = DecoupledModel::of(&file)?;
            given.longest_output = Some(model.served.max_tokens);
            KserveModel::Tokens(Arc::new(model))
        } else {
            KserveModel::Tensors(Arc::new(Manifest::of(&file)?))
        };
        Ok(Self { servers, model })
    }
}

impl EngineSettings for KserveConfig {
    fn serving_engines(&self) -> Vec<String> {
        self.servers.addresses()
    }

    fn check(&self, node: &NodeSettings) -> Result<(), EngineError> {
        let KserveModel::Tensors(manifest) = &self.model else { return Ok(()) };
        workload(manifest, node.instances)?;
        check_model_file(&manifest.model)
    }

    fn load(&self, node: &NodeSettings) -> Result<(Model, Vec<EngineKind>), EngineError> {
        let KserveConfig { servers: settings, model } = self;
        let (model, wanted) = match model {
            KserveModel::Tensors(manifest) => {
                let workload = workload(manifest, node.instances)?;
                let model = describe("kserve", manifest, &workload)?;
                (model, ExpectedModel::Tensors(manifest.clone(), workload))
            }
            KserveModel::Tokens(model) => {
                (Model::of_language("kserve", &model.served), ExpectedModel::Tokens(model.clone()))
            }
        };
        let KserveProbe { framework, response_cache, plan } = probe(settings, &wanted)?;
        check_rows(&plan)?;
        let found = match (&wanted, response_cache) {
            (ExpectedModel::Tensors(..), PrefixCaching::Off) => None,
            // The protocol reports nothing about prefixes.
            (ExpectedModel::Tokens(_), PrefixCaching::Off) => Some(PrefixCaching::CannotTell),
            (_, found) => Some(found),
        };
        let found =
            found.map(|prefix_caching| EngineFacts { prefix_caching, context_tokens: None });
        let (plan, servers) = (Arc::new(plan), Servers::new(&settings.urls));
        let counts = servers.counts();
        let engine = |_| {
            let plan = plan.clone();
            let servers = || servers.with(|url| Caller::new(url, settings));
            let exchange =
                || KserveExchange { plan, servers: servers(), timeout: settings.timeout };
            EngineKind::waiting(Tasks::new("kserve", node.batching.max_batch, exchange))
        };
        let engines = (0..node.instances).map(engine).collect::<Result<_, EngineError>>()?;
        Ok((Model { framework, found, servers: counts, ..model }, engines))
    }
}

/// Refuses a model without a batch dimension for workloads whose samples have several rows.
fn check_rows(plan: &Plan) -> Result<(), EngineError> {
    match plan {
        Plan::Tensors(tensors)
            if !tensors.has_batch_dimension && tensors.workload.row_steps(&[1]) != [1] =>
        {
            let workload = tensors.manifest.workload;
            let why = format!(
                "its tensors have no batch dimension, which {workload} needs: a sample is several rows"
            );
            Err(EngineError::unsupported(&tensors.manifest.name, why))
        }
        _ => Ok(()),
    }
}
