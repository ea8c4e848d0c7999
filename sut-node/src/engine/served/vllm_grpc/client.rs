//! Calls of the service.

use std::{
    error::Error as _,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use http::{HeaderValue, header};
use tonic::{Code, Request, Status, body::Body, metadata::AsciiMetadataValue};

use crate::{
    engine::{
        remote::{
            connector::Version,
            refused::{Refused, blames_prompt},
            servers::Server,
        },
        served::{
            connections::{Pool, fresh, kept, was_closed},
            vllm_grpc::{
                answer::{Answer, told},
                proto::{
                    GenerateRequest, GetModelInfoRequest, SamplingParams, TokenizedInput,
                    vllm_engine_client::VllmEngineClient,
                },
            },
        },
    },
    model::served::ServedModel,
    settings::served::ServedConfig,
};

/// Where a server that has too much to do says when to come back, in milliseconds; anything but a number: not at all.
const PUSHBACK: &str = "grpc-retry-pushback-ms";

pub(crate) struct Client {
    kept: Pool<Body>,
    fresh: Pool<Body>,
    token: Option<HeaderValue>,
    model: ServedModel,
    sampling: SamplingParams,
    /// Requests of others must not have the same name.
    name: String,
    requests: AtomicU64,
}

impl Client {
    pub(crate) fn new(settings: &ServedConfig) -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self {
            kept: kept(&settings.servers.tls, Version::Two),
            fresh: fresh(&settings.servers.tls, Version::Two),
            token: settings.servers.token.clone(),
            model: settings.model.clone(),
            sampling: sampling(&settings.model),
            name: format!("netdiv-{}-{}", std::process::id(), since.as_nanos()),
            requests: AtomicU64::new(0),
        }
    }

    /// Sends a prompt, and waits until the answer begins. To drop the answer is to cancel the request.
    pub(crate) async fn ask(&self, server: &Server, prompt: &[i64]) -> Result<Answer, Refused> {
        let ids: Result<Vec<u32>, _> = prompt.iter().map(|id| u32::try_from(*id)).collect();
        let Ok(ids) = ids else {
            return Err(Refused::BadSample("an id of the prompt is no id".into()));
        };
        let answer = match self.begin(&self.kept, server, ids.clone()).await {
            Err(status) if status.source().is_some_and(was_closed) => {
                self.begin(&self.fresh, server, ids).await
            }
            answer => answer,
        };
        answer.map_err(|status| refused(&status))
    }

    async fn begin(
        &self,
        pool: &Pool<Body>,
        server: &Server,
        input_ids: Vec<u32>,
    ) -> Result<Answer, Status> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let request = self.call(GenerateRequest {
            request_id: format!("{}-{number}", self.name),
            tokenized: Some(TokenizedInput { input_ids }),
            sampling_params: Some(self.sampling.clone()),
            stream: true,
        });
        let mut client = VllmEngineClient::with_origin(pool.clone(), server.url().clone());
        Answer::begin(client.generate(request).await?.into_inner()).await
    }

    /// Requests do not name the model, and vLLM ends when it meets an id that it does not have.
    pub(crate) async fn check_model(&self, server: &Server) -> Result<(), Refused> {
        let mut client = VllmEngineClient::with_origin(self.kept.clone(), server.url().clone());
        let info = client.get_model_info(self.call(GetModelInfoRequest {})).await;
        let info = info.map_err(|status| refused(&status))?.into_inner();
        let ServedModel { name, vocabulary, .. } = &self.model;
        if info.served_model_name != *name {
            let served = info.served_model_name;
            return Err(Refused::Failed(format!(
                "it serves `{served}`, not `{name}`; start it with --served-model-name {name}"
            )));
        }
        if info.vocab_size < *vocabulary {
            let known = info.vocab_size;
            return Err(Refused::Failed(format!(
                "its vocabulary has {known} ids, and that of the model's file {vocabulary}"
            )));
        }
        Ok(())
    }

    fn call<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().as_mut().insert(header::AUTHORIZATION, token.clone());
        }
        request
    }
}

/// Zeros are not always the defaults of the service, which draws at random where nothing is said.
fn sampling(model: &ServedModel) -> SamplingParams {
    SamplingParams {
        temperature: Some(0.0),
        top_p: 1.0,
        top_k: 0,
        min_p: 0.0,
        frequency_penalty: 0.0,
        presence_penalty: 0.0,
        repetition_penalty: 1.0,
        max_tokens: Some(model.max_tokens),
        min_tokens: model.min_tokens,
        stop_token_ids: model.eos.clone(),
        ignore_eos: false,
        n: 1,
        seed: Some(0),
    }
}

fn refused(status: &Status) -> Refused {
    let why = told(status);
    if status.source().is_some() {
        return Refused::Failed(format!("no answer: {why}"));
    }
    let pause = status.metadata().get(PUSHBACK).map(pause);
    match (status.code(), pause) {
        (Code::Unavailable | Code::ResourceExhausted, None | Some(Some(_))) => {
            Refused::Busy { pause: pause.flatten(), why }
        }
        (Code::InvalidArgument, _) if blames_prompt(status.message()) => Refused::BadSample(why),
        _ => Refused::Failed(why),
    }
}

/// How long a server wants to be left alone; `None`: for good.
fn pause(said: &AsciiMetadataValue) -> Option<Duration> {
    said.to_str().ok()?.parse().ok().map(Duration::from_millis)
}
