//! Calls of the service.

use std::{
    error::Error as _,
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use http::{HeaderValue, header};
use tonic::{Code, Request, Status, body::Body};

use crate::{
    engine::{
        remote::{
            connector::Version,
            refused::{Refused, blames_prompt},
            servers::Server,
        },
        served::{
            connections::{Pool, fresh, kept, was_closed},
            grpc::{
                Prompt,
                answer::{Answer, told},
                sglang::{self, proto::sglang_scheduler_client::SglangSchedulerClient},
                trtllm::{self, proto::trtllm_service_client::TrtllmServiceClient},
                vllm::{self, proto::vllm_engine_client::VllmEngineClient},
            },
        },
    },
    model::served::ServedModel,
    settings::served::{GrpcService, ServedConfig},
};

pub(crate) struct Client {
    pub(crate) service: GrpcService,
    kept: Pool<Body>,
    fresh: Pool<Body>,
    token: Option<HeaderValue>,
    model: ServedModel,
    /// Requests of others must not have the same name.
    name: String,
    requests: AtomicU64,
}

impl Client {
    pub(crate) fn new(settings: &ServedConfig, service: GrpcService) -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self {
            service,
            kept: kept(&settings.servers.tls, Version::Two),
            fresh: fresh(&settings.servers.tls, Version::Two),
            token: settings.servers.token.clone(),
            model: settings.model.clone(),
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
        ids: Vec<u32>,
    ) -> Result<Answer, Status> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let prompt = Prompt { name: format!("{}-{number}", self.name), ids, model: &self.model };
        let (pool, url) = (pool.clone(), server.url().clone());
        let answer = match self.service {
            GrpcService::Vllm => {
                let mut client = VllmEngineClient::with_origin(pool, url);
                let answer = client.generate(self.call(vllm::request(prompt))).await?;
                Answer::new(answer.into_inner())
            }
            GrpcService::Sglang => {
                let mut client = SglangSchedulerClient::with_origin(pool, url);
                let answer = client.generate(self.call(sglang::request(prompt))).await?;
                Answer::new(answer.into_inner())
            }
            GrpcService::Trtllm => {
                let mut client = TrtllmServiceClient::with_origin(pool, url);
                let answer = client.generate(self.call(trtllm::request(prompt))).await?;
                Answer::new(answer.into_inner())
            }
        };
        answer.begun().await
    }

    /// Requests do not name the model, and vLLM ends when it meets an id that it does not have. TensorRT-LLM tells the path of its
    /// model, and of its vocabulary the tokenizer's own part: nothing that could be compared.
    pub(crate) async fn check_model(&self, server: &Server) -> Result<(), Refused> {
        let (pool, url) = (self.kept.clone(), server.url().clone());
        let info = match self.service {
            GrpcService::Vllm => {
                let mut client = VllmEngineClient::with_origin(pool, url);
                let asks = self.call(vllm::proto::GetModelInfoRequest {});
                let info = client.get_model_info(asks).await.map(tonic::Response::into_inner);
                info.map(|info| (info.served_model_name, info.vocab_size))
            }
            GrpcService::Sglang => {
                let mut client = SglangSchedulerClient::with_origin(pool, url);
                let asks = self.call(sglang::proto::GetModelInfoRequest {});
                let info = client.get_model_info(asks).await.map(tonic::Response::into_inner);
                info.map(|info| (info.served_model_name, info.vocab_size.max(0).unsigned_abs()))
            }
            GrpcService::Trtllm => return Ok(()),
        };
        let (served, known) = info.map_err(|status| refused(&status))?;
        let ServedModel { name, vocabulary, .. } = &self.model;
        if served != *name {
            return Err(Refused::Failed(format!(
                "it serves `{served}`, not `{name}`; start it with --served-model-name {name}"
            )));
        }
        if known < *vocabulary {
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

fn refused(status: &Status) -> Refused {
    if let Some(error) = status.source() {
        return Refused::without_answer(error);
    }
    let why = told(status);
    if status.code() == Code::InvalidArgument && blames_prompt(status.message()) {
        return Refused::BadSample(why);
    }
    Refused::by_status(status, why)
}
