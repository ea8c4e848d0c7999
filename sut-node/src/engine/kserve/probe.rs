//! Probe of the servers before the node is ready: each must be ready, serve the model, and answer.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use netdiv_node_common::words::PrefixCaching;
use tokio::{runtime::Builder, time::timeout};
use tonic::{Response, Status};
use tracing::warn;

use crate::{
    engine::{
        kserve::{
            caller::{Caller, KserveServer},
            exchange::Plan,
            rpc::{
                ModelConfigRequest, ModelConfigResponse, ModelMetadataRequest, ModelReadyRequest,
                ServerMetadataRequest, ServerReadyRequest,
            },
            tensors::{TensorPlan, has_batch},
            tokens::TokenPlan,
        },
        remote::{
            refusal::Refusal, server_settings::ServersConfig, servers::Servers,
            start::wait_until_ready,
        },
    },
    ground::error::EngineError,
    model::{
        decoupled::{DecoupledModel, InputSource, InputValue},
        manifest::Manifest,
        served_model::ServedModel,
        workload::Workload,
    },
};

/// Maximum number of tokens of the probe's prompt.
const PROMPT_TOKENS: u32 = 8;
/// Maximum number of tokens of the probe's output.
const OUTPUT_TOKENS: u32 = 2;

/// Model that each server is expected to serve.
pub(super) enum ExpectedModel {
    Tensors(Arc<Manifest>, Arc<dyn Workload>),
    Tokens(Arc<DecoupledModel>),
}

pub(super) struct KserveProbe {
    /// Names of the servers, with their versions.
    pub(super) framework: String,
    /// State of the servers' caches of responses: the worst value among the servers.
    pub(super) response_cache: PrefixCaching,
    pub(super) plan: Plan,
}

/// Probes all servers. Fails if a server is unusable, or if its tensors differ from those of the
/// first server.
pub(super) fn probe(
    settings: &ServersConfig,
    wanted: &ExpectedModel,
) -> Result<KserveProbe, EngineError> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let name = match wanted {
        ExpectedModel::Tensors(manifest, _) => &manifest.name,
        ExpectedModel::Tokens(model) => &model.served.name,
    };
    let probed = runtime.block_on(async {
        let (mut names, mut worst, mut plan) = (BTreeSet::new(), PrefixCaching::Off, None);
        let servers = Servers::new(&settings.urls).with(|url| Caller::new(url, settings));
        for server in servers.all() {
            let unsupported =
                |why: String| EngineError::unsupported(format_args!("{name} at {server}"), why);
            let ready = async || check_ready(server, name, settings.timeout).await;
            let found = async {
                wait_until_ready(server, settings.start_timeout, ready).await?;
                ask(server, name, wanted, settings.timeout).await
            };
            let found = found.await.map_err(unsupported)?;
            if found.response_cache == PrefixCaching::On {
                warn!(
                    %server,
                    "the server caches responses, which the division does not allow; remove `response_cache` from \
                     config.pbtxt"
                );
            }
            names.insert(found.framework);
            worst = worst.max(found.response_cache);
            match &plan {
                Some(known) if !is_same(known, &found.plan) => {
                    let why = "its tensors differ from those of the first server";
                    return Err(unsupported(why.into()));
                }
                Some(_) => {}
                None => plan = Some(found.plan),
            }
        }
        let names: Vec<_> = names.into_iter().collect();
        let plan = plan.ok_or_else(|| EngineError::Failed("there is no server".into()))?;
        Ok(KserveProbe { framework: names.join(", "), response_cache: worst, plan })
    });
    runtime.shutdown_background();
    probed
}

fn is_same(a: &Plan, b: &Plan) -> bool {
    match (a, b) {
        (Plan::Tensors(a), Plan::Tensors(b)) => a.has_batch_dimension == b.has_batch_dimension,
        (Plan::Tokens(a), Plan::Tokens(b)) => a == b,
        _ => false,
    }
}

/// Fails while a server or its model `name` is not ready.
async fn check_ready(server: &KserveServer, name: &str, time: Duration) -> Result<(), String> {
    let caller = &server.caller;
    let mut client = caller.client();
    let ready = client.server_ready(caller.call(ServerReadyRequest {}));
    if !within(time, "ServerReady", ready).await?.ready {
        return Err("the server is not ready".into());
    }
    let name = name.to_owned();
    let ready = client.model_ready(caller.call(ModelReadyRequest { name: name.clone() }));
    if !within(time, "ModelReady", ready).await?.ready {
        return Err(format!(
            "the model is not ready; check the server's log, or correct name = {name:?} in the model's file"
        ));
    }
    Ok(())
}

/// Asks a server for the model `name`, and tries that model with a short input.
async fn ask(
    server: &KserveServer,
    name: &str,
    wanted: &ExpectedModel,
    time: Duration,
) -> Result<KserveProbe, String> {
    let caller = &server.caller;
    let mut client = caller.client();
    let metadata = client.server_metadata(caller.call(ServerMetadataRequest {}));
    let metadata = within(time, "ServerMetadata", metadata).await?;
    let name = name.to_owned();
    let model = client.model_metadata(caller.call(ModelMetadataRequest { name: name.clone() }));
    let model = within(time, "ModelMetadata", model).await?;
    let config = within(time, "ModelConfig", async {
        match client.model_config(caller.call(ModelConfigRequest { name })).await {
            // Only Triton supports this call, and an operator may disable it.
            Err(_) => Ok(Response::new(ModelConfigResponse::default())),
            answer => answer,
        }
    });
    let response_cache = match config.await?.config {
        None => PrefixCaching::CannotTell,
        Some(config) if config.response_cache.is_some_and(|cache| cache.enable) => {
            PrefixCaching::On
        }
        Some(_) => PrefixCaching::Off,
    };
    let plan = match wanted {
        ExpectedModel::Tensors(manifest, workload) => {
            let batch = has_batch(manifest, &model.inputs, &model.outputs)?;
            let (manifest, workload) = (manifest.clone(), workload.clone());
            let tensors = TensorPlan { manifest, workload, has_batch_dimension: batch };
            for pass in tensors.workload.warm_up(&[1], &[]) {
                tensors.try_pass(server, &pass, time).await.map_err(Refusal::into_text)?;
            }
            Plan::Tensors(tensors)
        }
        ExpectedModel::Tokens(wanted) => {
            let few = Arc::new(with_few_tokens(wanted));
            let prompt: Vec<_> = prompt(&few.served).collect();
            let tokens = TokenPlan::new(few, &model.inputs, &model.outputs)?;
            tokens
                .attempt(server, &prompt, &mut Vec::new(), time)
                .await
                .map_err(Refusal::into_text)?;
            Plan::Tokens(TokenPlan::new(wanted.clone(), &model.inputs, &model.outputs)?)
        }
    };
    let framework = format!("{} {}", metadata.name, metadata.version);
    Ok(KserveProbe { framework, response_cache, plan })
}

/// Waits for a call, at most for `time`. `what` names the call in errors.
async fn within<T>(
    time: Duration,
    what: &str,
    call: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, String> {
    match timeout(time, call).await {
        Ok(Ok(answer)) => Ok(answer.into_inner()),
        Ok(Err(status)) => Err(format!("{what}: {}", Refusal::from(status).into_text())),
        Err(_) => Err(format!("{what}: no answer")),
    }
}

/// Returns a copy of the model, with short outputs if the model has an input for their maximum
/// length.
fn with_few_tokens(model: &DecoupledModel) -> DecoupledModel {
    let is_told =
        model.inputs.values().any(|given| *given == InputValue::Word(InputSource::MaxTokens));
    let mut model = model.clone();
    if is_told {
        model.served.max_tokens = model.served.max_tokens.min(OUTPUT_TOKENS);
        model.served.min_tokens = 1;
    }
    model
}

/// Returns a prompt from the middle of the vocabulary. Ids at its ends often have a special
/// meaning.
fn prompt(model: &ServedModel) -> impl Iterator<Item = i64> {
    let (middle, tokens) = (model.vocabulary / 2, model.max_input_tokens.min(PROMPT_TOKENS));
    std::iter::repeat_n(i64::from(middle), tokens as usize)
}
