//! What is asked of the servers before the node is ready: whether they are, what they serve, and whether it answers.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::{
    runtime::Builder,
    time::{Instant, timeout},
};
use tonic::{Code, Response, Status};
use tracing::warn;

use crate::{
    engine::{
        error::EngineError,
        kserve::{
            exchange::Plan,
            rpc::{
                ModelConfigRequest, ModelConfigResponse, ModelMetadataRequest, ModelReadyRequest,
                ServerMetadataRequest, ServerReadyRequest,
            },
            servers::{Refused, Server, Servers},
            tensors::{Tensors, has_batch},
            tokens::Tokens,
            wait::Taker,
        },
    },
    model::{
        decoupled::{DecoupledModel, Given, Word},
        manifest::Manifest,
        served::ServedModel,
        workload::Workload,
    },
    settings::openai::ServersConfig,
};

/// Tokens of a prompt that is tried, and of its output.
const PROMPT_TOKENS: u32 = 8;
const OUTPUT_TOKENS: u32 = 2;

/// What is to be served.
pub(super) enum Wanted {
    Tensors(Arc<Manifest>, Arc<dyn Workload>),
    Tokens(Arc<DecoupledModel>),
}

/// What the servers are.
pub(super) struct Probed {
    /// Their names, with their versions.
    pub(super) framework: String,
    /// Whether one of them gives answers again that it has given before.
    pub(super) caches: bool,
    pub(super) plan: Plan,
}

/// Takes tokens for nobody.
struct Nobody;

impl Taker for Nobody {
    fn tokens(&mut self, _ids: &[i32]) {}

    fn has_gone(&self) -> bool {
        false
    }
}

/// Asks all servers.
pub(super) fn probe(settings: &ServersConfig, wanted: &Wanted) -> Result<Probed, EngineError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| EngineError::Failed(error.to_string()))?;
    let name = match wanted {
        Wanted::Tensors(manifest, _) => &manifest.name,
        Wanted::Tokens(model) => &model.served.name,
    };
    let probed = runtime.block_on(async {
        let (mut names, mut caches, mut plan) = (BTreeSet::new(), false, None);
        for server in Servers::new(settings).all() {
            let path = format!("{name} at {server}");
            let unsupported = |why| EngineError::Unsupported { path, why };
            let found = ask(server, name, wanted, settings.timeout).await.map_err(unsupported)?;
            if found.caches {
                warn!(
                    %server,
                    "it gives answers again from a cache, which the division does not allow: leave out `response_cache` in \
                     config.pbtxt"
                );
            }
            names.insert(found.framework);
            caches |= found.caches;
            match &plan {
                Some(known) if !is_same(known, &found.plan) => {
                    let path = format!("{name} at {server}");
                    let why = "its tensors are not those of the first server".into();
                    return Err(EngineError::Unsupported { path, why });
                }
                Some(_) => {}
                None => plan = Some(found.plan),
            }
        }
        let names: Vec<_> = names.into_iter().collect();
        let plan = plan.ok_or_else(|| EngineError::Failed("there is no server".into()))?;
        Ok(Probed { framework: names.join(", "), caches, plan })
    });
    runtime.shutdown_background();
    probed
}

fn is_same(a: &Plan, b: &Plan) -> bool {
    match (a, b) {
        (Plan::Tensors(a), Plan::Tensors(b)) => a.batch == b.batch,
        (Plan::Tokens(a), Plan::Tokens(b)) => a == b,
        _ => false,
    }
}

/// Asks a server what it serves, and tries it.
async fn ask(
    server: &Server,
    name: &str,
    wanted: &Wanted,
    time: Duration,
) -> Result<Probed, String> {
    let mut client = server.client();
    let within = |what| Within { what, until: Instant::now() + time };
    let name = name.to_owned();
    let ready = within("ServerReady").call(client.server_ready(server.call(ServerReadyRequest {})));
    if !ready.await?.ready {
        return Err("the server is not ready".into());
    }
    let metadata = client.server_metadata(server.call(ServerMetadataRequest {}));
    let metadata = within("ServerMetadata").call(metadata).await?;
    let request = ModelReadyRequest { name: name.clone() };
    let ready = within("ModelReady").call(client.model_ready(server.call(request)));
    if !ready.await?.ready {
        return Err(format!(
            "the model is not ready; look into the server's log, or correct name = {name:?} in the model's file"
        ));
    }
    let request = ModelMetadataRequest { name: name.clone() };
    let model = within("ModelMetadata").call(client.model_metadata(server.call(request))).await?;
    let caches = within("ModelConfig")
        .call(async {
            match client.model_config(server.call(ModelConfigRequest { name })).await {
                // Triton alone has it.
                Err(status) if status.code() == Code::Unimplemented => {
                    Ok(Response::new(ModelConfigResponse::default()))
                }
                answer => answer,
            }
        })
        .await?
        .config
        .and_then(|config| config.response_cache)
        .is_some_and(|cache| cache.enable);
    let plan = match wanted {
        Wanted::Tensors(manifest, workload) => {
            let batch = has_batch(manifest, &model.inputs, &model.outputs)?;
            let (manifest, workload) = (manifest.clone(), workload.clone());
            let tensors = Tensors { manifest, workload, batch };
            for pass in tensors.workload.warm_up(&[1], &[]) {
                tensors.try_pass(server, &pass, &Nobody, time).await.map_err(said)?;
            }
            Plan::Tensors(tensors)
        }
        Wanted::Tokens(wanted) => {
            let few = Arc::new(with_few_tokens(wanted));
            let prompt: Vec<_> = prompt(&few.served).collect();
            let tokens = Tokens::new(few, &model.inputs, &model.outputs)?;
            tokens.attempt(server, &prompt, &mut Nobody, time).await.map_err(said)?;
            Plan::Tokens(Tokens::new(wanted.clone(), &model.inputs, &model.outputs)?)
        }
    };
    let framework = format!("{} {}", metadata.name, metadata.version);
    Ok(Probed { framework, caches, plan })
}

fn said(refused: Refused) -> String {
    refused.to_string()
}

/// A call that must not take for ever.
struct Within {
    what: &'static str,
    until: Instant,
}

impl Within {
    async fn call<T>(
        self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, String> {
        let answer = timeout(self.until.saturating_duration_since(Instant::now()), call).await;
        let answer = answer.map_err(|_| format!("{}: no answer", self.what))?;
        let answer =
            answer.map_err(|status| format!("{}: {}", self.what, Refused::from(status)))?;
        Ok(answer.into_inner())
    }
}

/// The same, with a short output where the model is told how long it may be.
fn with_few_tokens(model: &DecoupledModel) -> DecoupledModel {
    let is_told = model.inputs.values().any(|given| *given == Given::Word(Word::MaxTokens));
    let mut model = model.clone();
    if is_told {
        model.served.max_tokens = model.served.max_tokens.min(OUTPUT_TOKENS);
        model.served.min_tokens = 1;
    }
    model
}

/// A prompt from the middle of the vocabulary: the ids at its ends often have a meaning of their own.
fn prompt(model: &ServedModel) -> impl Iterator<Item = i64> {
    let (middle, tokens) = (model.vocabulary / 2, model.max_input_tokens.min(PROMPT_TOKENS));
    std::iter::repeat_n(i64::from(middle), tokens as usize)
}
