//! Loads the engine `kserve`.

use std::sync::Arc;

use netdiv_node_common::{
    resources::files,
    words::{EngineFacts, PrefixCaching},
};

use crate::{
    engine::{
        interface::EngineKind,
        kserve::{
            caller::Caller,
            exchange::{KserveExchange, Plan},
            probe::{ExpectedModel, KserveProbe, probe},
        },
        remote::{servers::Servers, tasks::Tasks},
        workload::workload,
    },
    ground::error::EngineError,
    model::{identity::Model, manifest::Manifest, workload::Workload},
    settings::{
        config::Config,
        kserve::{KserveConfig, KserveModel},
    },
};

/// Checks that the servers are usable. Returns the description of their model, and the instances.
pub(crate) fn load(
    settings: &KserveConfig,
    config: &Config,
) -> Result<(Model, Vec<EngineKind>), EngineError> {
    let KserveConfig { servers: settings, model } = settings;
    let (model, wanted) = match model {
        KserveModel::Tensors(manifest) => {
            let (model, workload) = of_tensors(manifest, config)?;
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
    let found = found.map(|prefix_caching| EngineFacts { prefix_caching, context_tokens: None });
    let (plan, servers) = (Arc::new(plan), Servers::new(&settings.urls));
    let counts = servers.counts();
    let engine = |_| {
        let plan = plan.clone();
        let servers = || servers.with(|url| Caller::new(url, settings));
        let exchange = || KserveExchange { plan, servers: servers(), timeout: settings.timeout };
        EngineKind::waiting(Tasks::new("kserve", config.batching.max_batch, exchange))
    };
    let engines = (0..config.instances).map(engine).collect::<Result<_, EngineError>>()?;
    Ok((Model { framework, found, servers: counts, ..model }, engines))
}

fn of_tensors(
    manifest: &Arc<Manifest>,
    config: &Config,
) -> Result<(Model, Arc<dyn Workload>), EngineError> {
    let path = manifest.model.display().to_string();
    let sha256 =
        files::sha256(&manifest.model).map_err(|error| EngineError::Unreadable { path, error })?;
    let workload = workload(manifest, config.instances)?;
    let model = Model {
        name: manifest.name.clone(),
        sha256,
        input: workload.layout(),
        encodings: manifest.encodings.clone(),
        workload: Some(workload.clone()),
        ..Model::any_bytes("kserve")
    };
    Ok((model, workload))
}

/// Refuses a model without a batch dimension for workloads whose samples have several rows.
fn check_rows(plan: &Plan) -> Result<(), EngineError> {
    match plan {
        Plan::Tensors(tensors)
            if !tensors.has_batch_dimension && tensors.workload.row_steps(&[1]) != [1] =>
        {
            let workload = tensors.manifest.workload;
            Err(EngineError::Unsupported {
                path: tensors.manifest.name.clone(),
                why: format!(
                    "its tensors have no batch dimension, which {workload} needs: a sample is several rows"
                ),
            })
        }
        _ => Ok(()),
    }
}
