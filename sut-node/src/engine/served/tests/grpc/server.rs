//! A vLLM that does as it is told.

use std::{
    collections::VecDeque,
    future::pending,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use futures_core::Stream;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use parking_lot::Mutex;
use tokio::{net::TcpListener, runtime, task::AbortHandle};
use tokio_rustls::TlsAcceptor;
use tonic::{Request, Response, Status};

use super::super::fake::settings;
use crate::{
    engine::{
        remote::testing::tiny,
        served::grpc::vllm::proto::{
            GenerateComplete, GenerateRequest, GenerateResponse, GenerateStreamChunk,
            GetModelInfoRequest, GetModelInfoResponse,
            generate_response::Response::{Chunk, Complete},
            vllm_engine_server::{VllmEngine, VllmEngineServer},
        },
    },
    settings::served::{Dialect, GrpcService, Protocol, ServedConfig},
};

/// What the server does next in a call.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Send(GenerateResponse),
    /// Sends this until the client leaves.
    Repeat(GenerateResponse),
    Fail(Status),
    /// Says nothing until the client leaves.
    Hang,
    /// Closes all connections.
    Cut,
}

/// The server, and what it has seen.
pub(super) struct Vllm {
    pub(super) url: String,
    pub(super) seen: Arc<Seen>,
}

#[derive(Default)]
pub(super) struct Seen {
    pub(super) requests: Mutex<Vec<GenerateRequest>>,
    /// Values of the header `authorization`.
    pub(super) tokens: Mutex<Vec<String>>,
    /// Calls that the client cancelled.
    pub(super) left: AtomicUsize,
    /// All that there were.
    pub(super) connections: Mutex<Vec<AbortHandle>>,
}

/// What it does for a request: how many came before, and the request. An error is an answer without a message.
type Script = dyn Fn(usize, &GenerateRequest) -> Result<Vec<Act>, Status> + Send + Sync;

struct Service {
    seen: Arc<Seen>,
    info: GetModelInfoResponse,
    script: Box<Script>,
}

impl Vllm {
    pub(super) fn always(acts: Vec<Act>) -> Self {
        Self::start(move |_, _| Ok(acts.clone()))
    }

    pub(super) fn start(
        script: impl Fn(usize, &GenerateRequest) -> Result<Vec<Act>, Status> + Send + Sync + 'static,
    ) -> Self {
        Self::serving("tiny", 2048, None, script)
    }

    pub(super) fn serving(
        name: &str,
        vocabulary: u32,
        tls: Option<TlsAcceptor>,
        script: impl Fn(usize, &GenerateRequest) -> Result<Vec<Act>, Status> + Send + Sync + 'static,
    ) -> Self {
        let info = GetModelInfoResponse { vocab_size: vocabulary, served_model_name: name.into() };
        let seen = Arc::<Seen>::default();
        let service = Service { seen: seen.clone(), info, script: Box::new(script) };
        let server = VllmEngineServer::new(service);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let connections = seen.clone();
        std::thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                loop {
                    let (connection, _) = listener.accept().await.unwrap();
                    let service = TowerToHyperService::new(server.clone());
                    let tls = tls.clone();
                    let task = tokio::spawn(async move {
                        let builder = Builder::new(TokioExecutor::new());
                        // A client that leaves ends its connection, not the server.
                        let _ = match tls {
                            None => {
                                builder.serve_connection(TokioIo::new(connection), service).await
                            }
                            Some(tls) => match tls.accept(connection).await {
                                Ok(connection) => {
                                    let connection = TokioIo::new(connection);
                                    builder.serve_connection(connection, service).await
                                }
                                Err(_) => Ok(()),
                            },
                        };
                    });
                    connections.connections.lock().push(task.abort_handle());
                }
            })
        });
        Self { url, seen }
    }

    /// What a node asks it for: so many tokens.
    pub(super) fn settings(&self, max_tokens: u32) -> ServedConfig {
        of(&[&self.url], max_tokens)
    }
}

pub(super) fn of(urls: &[&str], max_tokens: u32) -> ServedConfig {
    let settings = settings(urls, Dialect::Vllm, tiny(max_tokens, &[2]));
    ServedConfig { protocol: Protocol::Grpc(GrpcService::Vllm), ..settings }
}

/// A part of an output, after a prompt of four tokens.
pub(super) fn part(ids: &[u32]) -> GenerateResponse {
    GenerateResponse {
        response: Some(Chunk(GenerateStreamChunk {
            token_ids: ids.to_vec(),
            prompt_tokens: 4,
            completion_tokens: ids.len() as u32,
            ..GenerateStreamChunk::default()
        })),
    }
}

/// The end of an output, with the ids that it repeats.
pub(super) fn end(ids: &[u32], reason: &str) -> GenerateResponse {
    GenerateResponse {
        response: Some(Complete(GenerateComplete {
            output_ids: ids.to_vec(),
            finish_reason: reason.into(),
            prompt_tokens: 4,
            completion_tokens: ids.len() as u32,
            ..GenerateComplete::default()
        })),
    }
}

/// All of an answer.
pub(super) fn sends(messages: &[GenerateResponse]) -> Vec<Act> {
    messages.iter().cloned().map(Act::Send).collect()
}

#[tonic::async_trait]
impl VllmEngine for Service {
    type GenerateStream = Acts;

    async fn generate(&self, request: Request<GenerateRequest>) -> Result<Response<Acts>, Status> {
        if let Some(token) = request.metadata().get("authorization") {
            self.seen.tokens.lock().push(token.to_str().unwrap().into());
        }
        let request = request.into_inner();
        let number = self.seen.requests.lock().len();
        let acts = (self.script)(number, &request);
        self.seen.requests.lock().push(request);
        let acts = Acts { acts: acts?.into(), turns: 0, seen: self.seen.clone() };
        // A server that has nothing to say does not begin its answer.
        match acts.acts.front() {
            Some(Act::Hang) => pending().await,
            _ => Ok(Response::new(acts)),
        }
    }

    async fn get_model_info(
        &self,
        _request: Request<GetModelInfoRequest>,
    ) -> Result<Response<GetModelInfoResponse>, Status> {
        Ok(Response::new(self.info.clone()))
    }
}

pub(super) struct Acts {
    acts: VecDeque<Act>,
    turns: usize,
    seen: Arc<Seen>,
}

impl Stream for Acts {
    type Item = Result<GenerateResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.acts.front().cloned() {
            Some(Act::Repeat(message)) => return Poll::Ready(Some(Ok(message))),
            Some(Act::Hang) => return Poll::Pending,
            Some(Act::Cut) => {
                // What was sent before has to go out first.
                self.turns += 1;
                if self.turns < 100 {
                    cx.waker().wake_by_ref();
                } else {
                    self.seen.connections.lock().iter().for_each(AbortHandle::abort);
                }
                return Poll::Pending;
            }
            _ => {}
        }
        Poll::Ready(match self.acts.pop_front() {
            Some(Act::Send(message)) => Some(Ok(message)),
            Some(Act::Fail(status)) => Some(Err(status)),
            _ => None,
        })
    }
}

impl Drop for Acts {
    fn drop(&mut self) {
        if !self.acts.is_empty() {
            self.seen.left.fetch_add(1, Ordering::SeqCst);
        }
    }
}
