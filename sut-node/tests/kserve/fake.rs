//! A fake Triton server that follows a script.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{net::TcpListener, runtime::Builder};
use tokio_stream::{Stream, wrappers::TcpListenerStream};
use tonic::{Request, Response, Status, Streaming, transport};

use crate::{
    engine::{
        kserve::rpc::{
            InferParameter, ModelInferRequest, ModelInferResponse, ModelStreamInferResponse,
            grpc_inference_service_server::{GrpcInferenceService, GrpcInferenceServiceServer},
            infer_parameter::ParameterChoice,
            model_infer_response::InferOutputTensor,
            model_metadata_response::TensorMetadata,
        },
        remote::{server_settings::ServersConfig, testing},
    },
    model::decoupled::{DecoupledModel, InputSource, InputValue},
};

/// Action of the server in response to a request.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Send(ModelStreamInferResponse),
    /// Sends the message for ever.
    Repeat(ModelStreamInferResponse),
    Fail(Status),
    /// Sends nothing until the client cancels the request.
    Hang,
    /// Ends the server, as a client sees it.
    Die,
}

/// Function that returns the actions for a request. Its arguments are the number of earlier
/// requests, and the request.
type ActScript = dyn Fn(usize, &ModelInferRequest) -> Vec<Act> + Send + Sync;

/// Settings that lead to the running server, and the requests that it has received.
pub(super) struct Fake {
    pub(super) settings: ServersConfig,
    seen: Arc<RequestLog>,
}

#[derive(Default)]
struct RequestLog {
    requests: Mutex<Vec<ModelInferRequest>>,
    /// Header `authorization` of the last request.
    authorization: Mutex<Option<String>>,
    /// Number of cancelled requests.
    left: AtomicUsize,
}

impl Fake {
    pub(super) fn start(
        script: impl Fn(usize, &ModelInferRequest) -> Vec<Act> + Send + Sync + 'static,
    ) -> Self {
        let seen = Arc::<RequestLog>::default();
        let service =
            FakeService { script: Arc::new(script), seen: seen.clone(), ends: Arc::default() };
        let (tell, address) = mpsc::channel();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let ends = service.ends.clone();
                let server = transport::Server::builder()
                    .add_service(GrpcInferenceServiceServer::new(service))
                    .serve_with_incoming(TcpListenerStream::new(listener));
                tokio::select! {
                    served = server => served.unwrap(),
                    () = ends.notified() => {}
                }
            });
        });
        let url = format!("http://{}", address.recv().unwrap());
        Self { settings: testing::servers(&[&url]), seen }
    }

    pub(super) fn requests(&self) -> usize {
        self.seen.requests.lock().len()
    }

    pub(super) fn request(&self, place: usize) -> ModelInferRequest {
        self.seen.requests.lock()[place].clone()
    }

    pub(super) fn authorization(&self) -> Option<String> {
        self.seen.authorization.lock().clone()
    }

    pub(super) fn left(&self) -> usize {
        self.seen.left.load(Ordering::SeqCst)
    }
}

struct FakeService {
    script: Arc<ActScript>,
    seen: Arc<RequestLog>,
    ends: Arc<tokio::sync::Notify>,
}

impl FakeService {
    fn note_authorization<T>(&self, request: &Request<T>) {
        let token = request.metadata().get("authorization");
        let token = token.and_then(|token| token.to_str().ok()).map(ToOwned::to_owned);
        *self.seen.authorization.lock() = token;
    }

    fn acts(&self, request: ModelInferRequest) -> Vec<Act> {
        let mut requests = self.seen.requests.lock();
        let acts = (self.script)(requests.len(), &request);
        requests.push(request);
        acts
    }
}

/// Counts a cancelled request when it is dropped.
struct CancelGuard(Arc<RequestLog>);

impl Drop for CancelGuard {
    fn drop(&mut self) {
        self.0.left.fetch_add(1, Ordering::SeqCst);
    }
}

type Answers = Pin<Box<dyn Stream<Item = Result<ModelStreamInferResponse, Status>> + Send>>;

/// Executes the actions. Returns the stream of the messages that they send.
fn play(acts: Vec<Act>, seen: Arc<RequestLog>, ends: Arc<tokio::sync::Notify>) -> Answers {
    let (tell, answers) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        for act in acts {
            match act {
                Act::Send(message) => drop(tell.send(Ok(message)).await),
                Act::Fail(status) => drop(tell.send(Err(status)).await),
                Act::Repeat(message) => {
                    let _waits = CancelGuard(seen.clone());
                    while tell.send(Ok(message.clone())).await.is_ok() {
                        // A peer closes a connection that sends small frames faster than it reads
                        // them.
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
                Act::Hang => {
                    let _waits = CancelGuard(seen.clone());
                    tell.closed().await;
                }
                Act::Die => {
                    ends.notify_one();
                    tell.closed().await;
                }
            }
        }
    });
    Box::pin(tokio_stream::wrappers::ReceiverStream::new(answers))
}

#[tonic::async_trait]
impl GrpcInferenceService for FakeService {
    async fn model_stream_infer(
        &self,
        request: Request<Streaming<ModelInferRequest>>,
    ) -> Result<Response<Answers>, Status> {
        self.note_authorization(&request);
        let request = request.into_inner().message().await?.unwrap();
        Ok(Response::new(play(self.acts(request), self.seen.clone(), self.ends.clone())))
    }

    async fn model_infer(
        &self,
        request: Request<ModelInferRequest>,
    ) -> Result<Response<ModelInferResponse>, Status> {
        self.note_authorization(&request);
        match self.acts(request.into_inner()).remove(0) {
            Act::Send(message) => Ok(Response::new(message.infer_response.unwrap())),
            Act::Fail(status) => Err(status),
            Act::Repeat(_) | Act::Hang | Act::Die => {
                let _waits = CancelGuard(self.seen.clone());
                std::future::pending().await
            }
        }
    }
}

/// Returns a response with one output: `output` is its name, data type and shape, and `data` its
/// bytes.
pub(super) fn answer(
    id: &str,
    output: (&str, &str, &[i64]),
    data: impl Into<Vec<u8>>,
) -> ModelInferResponse {
    let (name, datatype, shape) = output;
    ModelInferResponse {
        model_name: "tiny".into(),
        id: id.into(),
        outputs: vec![InferOutputTensor {
            name: name.into(),
            datatype: datatype.into(),
            shape: shape.to_vec(),
        }],
        raw_output_contents: vec![Bytes::from(data.into())],
        ..ModelInferResponse::default()
    }
}

/// Returns a message of a stream that contains the response `answer`. `is_final` marks the last
/// message.
pub(super) fn of(answer: ModelInferResponse, is_final: bool) -> ModelStreamInferResponse {
    let said = InferParameter { parameter_choice: Some(ParameterChoice::BoolParam(is_final)) };
    let parameters = [("triton_final_response".to_owned(), said)].into();
    let infer_response = Some(ModelInferResponse { parameters, ..answer });
    ModelStreamInferResponse { infer_response, ..ModelStreamInferResponse::default() }
}

/// Returns a message of a stream with token ids, which is not the last message.
pub(super) fn tokens(id: &str, ids: &[i32]) -> ModelStreamInferResponse {
    let data: Vec<_> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    of(answer(id, ("ids", "INT32", &[1, ids.len() as i64]), data), false)
}

/// Returns the last message of a stream, which has no tokens.
pub(super) fn end(id: &str) -> ModelStreamInferResponse {
    of(ModelInferResponse { id: id.into(), ..ModelInferResponse::default() }, true)
}

/// Returns the model of the fake server.
pub(super) fn tiny(max_tokens: u32, eos: &[u32]) -> DecoupledModel {
    DecoupledModel {
        served: testing::tiny(max_tokens, eos),
        output: "ids".into(),
        inputs: [
            ("prompt", InputValue::Word(InputSource::Prompt)),
            ("length", InputValue::Word(InputSource::PromptTokens)),
            ("most", InputValue::Word(InputSource::MaxTokens)),
            ("streaming", InputValue::Bool(true)),
        ]
        .map(|(name, given)| (name.to_owned(), given))
        .into(),
    }
}

/// Returns a tensor as a server describes it.
pub(super) fn tensor(name: &str, datatype: &str, shape: &[i64]) -> TensorMetadata {
    TensorMetadata { name: name.into(), datatype: datatype.into(), shape: shape.to_vec() }
}

/// Returns the inputs and outputs of [`tiny`].
pub(super) fn tensors() -> [Vec<TensorMetadata>; 2] {
    let inputs = vec![
        tensor("prompt", "INT64", &[-1, -1]),
        tensor("length", "INT32", &[-1, 1]),
        tensor("most", "UINT32", &[-1, 1]),
        tensor("streaming", "BOOL", &[-1, 1]),
    ];
    [inputs, vec![tensor("ids", "INT32", &[-1, -1])]]
}
