//! A SUT node that misbehaves on demand. Over gRPC it uses only the generated code, as a
//! third-party gRPC server would.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use bytes::Bytes;
use netdiv_contract::{
    PROTOCOL_VERSION, SessionHeader,
    burst::Messages,
    framing,
    layout::{DataType, InputLayout, TensorSpec},
    limits,
    tally::{self, PayloadDigest, Tally},
    tokens,
    v1::{
        self, DescribeRequest, DescribeResponse, DigestCount, DigestsRequest, DigestsResponse,
        FlushRequest, FlushResponse, InferRequest, InferResponse, MeasureRequest, MeasureResponse,
        Part, Status,
        sut_node_server::{SutNode, SutNodeServer},
    },
};
use netdiv_transport::{
    Connections, Handler,
    quic::{self, QuicServer},
};
use tokio::{
    net::TcpListener,
    runtime::Runtime,
    sync::{mpsc, watch},
};
use tokio_stream::{Stream, wrappers::ReceiverStream};
use tonic::{Request, Response, Streaming, transport::server::TcpIncoming};

use crate::process::transport;

/// Behaviour of a fake node.
#[derive(Debug, Clone)]
pub struct Behaviour {
    /// Reply to Describe; the nonce is filled in.
    pub description: DescribeResponse,
    /// Returns the caller's nonce if set.
    pub honest_nonce: bool,
    /// Delay before a reply to Describe.
    pub describe_delay: Duration,
    /// Number of calls of Describe after which the description changes, and the change.
    pub description_change: Option<(usize, DescriptionChange)>,
    /// Returns the replies to a request.
    pub reply: Reply,
    /// Changes each reply.
    pub spoil: fn(&mut InferResponse),
    /// Number of requests after which the node ends its half of a stream, without a reason.
    pub max_requests: usize,
    /// Acknowledges a flush if set.
    pub acknowledges_flush: bool,
    /// Number of received samples that the node does not count.
    pub uncounted_samples: u64,
    /// Returns the bytes that the node counts in a tally instead of a payload. The first argument
    /// is the tally: of samples or of responses.
    pub digests_of: fn(v1::Tally, Bytes) -> Bytes,
}

/// Returns the replies to a request. Its first argument is the number of earlier requests.
pub type Reply = fn(usize, InferRequest) -> Vec<InferResponse>;

/// Changes a node's description.
pub type DescriptionChange = fn(&mut DescribeResponse);

/// Calls of Describe before LoadGen begins: the first of the connection, one with evidence, and
/// five for round-trip times.
pub const BEFORE_THE_RUN: usize = 7;

/// Calls that the node received.
#[derive(Debug, Default)]
pub struct ReceivedCalls {
    /// Number of calls of Describe.
    pub describes: usize,
    /// Requests, in order of arrival.
    pub requests: Vec<InferRequest>,
    /// Payload of the request and payload of the reply, for each reply in the order of sending.
    pub replies: Vec<(Bytes, Bytes)>,
    /// Calls of Flush.
    pub flushes: Vec<FlushRequest>,
    /// Session header of each stream.
    pub sessions: Vec<String>,
}

impl Behaviour {
    /// Returns the behaviour of a correct node without a model. The node responds with the first
    /// eight bytes of each sample.
    pub fn good(name: &str) -> Self {
        Self {
            description: DescribeResponse {
                protocol_version: PROTOCOL_VERSION,
                node_name: name.into(),
                software_version: "0".into(),
                engine: "fake".into(),
                model_name: "none".into(),
                input: Some(InputLayout::default()),
                encodings: vec![0, 1, 2],
                max_payload_bytes: 1 << 20,
                max_in_flight_samples: 64,
                max_in_flight_bytes: 1 << 20,
                max_batch: 1,
                // As a node of an older contract does.
                ..DescribeResponse::default()
            },
            honest_nonce: true,
            describe_delay: Duration::ZERO,
            description_change: None,
            reply: |_, request| vec![answer(&request)],
            spoil: |_| {},
            max_requests: usize::MAX,
            acknowledges_flush: true,
            uncounted_samples: 0,
            digests_of: |_, payload| payload,
        }
    }
}

impl Behaviour {
    /// Returns the behaviour of a node that announces outputs of tokens, and replies with this
    /// function.
    pub fn of_tokens(name: &str, reply: Reply) -> Self {
        let mut behaviour = Self { reply, ..Self::good(name) };
        let (name, data_type) = ("input_ids".into(), DataType::Int32 as i32);
        let tensors = vec![TensorSpec { name, data_type, shape: vec![-1] }];
        behaviour.description.input = Some(InputLayout { tensors });
        behaviour.description.tokens = true;
        behaviour
    }
}

/// Returns a message with tokens of an output.
pub fn output_message(request: &InferRequest, part: Part, ids: &[i32]) -> InferResponse {
    InferResponse {
        id: request.id,
        part: part as i32,
        token_count: ids.len() as u32,
        payload: tokens::to_bytes(ids),
        ..InferResponse::default()
    }
}

/// Returns the correct response of a well-behaved node.
pub fn answer(request: &InferRequest) -> InferResponse {
    let payload = request.payload.slice(..request.payload.len().min(8));
    InferResponse {
        id: request.id,
        status: Status::Ok as i32,
        batch_size: 1,
        payload,
        ..InferResponse::default()
    }
}

/// A running fake node.
pub struct FakeNode {
    /// Address of the listener, as `IP:PORT`.
    pub address: String,
    seen: Arc<Mutex<ReceivedCalls>>,
    _runtime: Runtime,
}

impl FakeNode {
    /// Starts a node on a free port.
    pub fn start(behaviour: Behaviour) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let seen = Arc::new(Mutex::new(ReceivedCalls::default()));
        let service = Service { behaviour, seen: seen.clone() };
        let address = runtime.block_on(async {
            match transport() {
                "quic" => serve_quic(service),
                _ => serve_grpc(service).await,
            }
        });
        Self { address, seen, _runtime: runtime }
    }

    /// Passes the received calls to a closure.
    pub fn seen<T>(&self, look: impl FnOnce(&ReceivedCalls) -> T) -> T {
        look(&self.seen.lock().expect("no holder panics"))
    }
}

#[derive(Clone)]
struct Service {
    behaviour: Behaviour,
    seen: Arc<Mutex<ReceivedCalls>>,
}

impl Service {
    /// Records a new stream of a session. Returns a function that records a request and returns its
    /// replies.
    fn stream(
        &self,
        session: &str,
    ) -> impl FnMut(InferRequest) -> Vec<InferResponse> + Send + use<> {
        let (seen, reply, spoil) = (self.seen.clone(), self.behaviour.reply, self.behaviour.spoil);
        seen.lock().expect("no holder panics").sessions.push(session.into());
        move |request| {
            let before = {
                let mut seen = seen.lock().expect("no holder panics");
                seen.requests.push(request.clone());
                seen.requests.len() - 1
            };
            let sample = request.payload.clone();
            let mut replies = reply(before, request);
            replies.iter_mut().for_each(spoil);
            let payloads = replies.iter().map(|reply| (sample.clone(), reply.payload.clone()));
            seen.lock().expect("no holder panics").replies.extend(payloads);
            replies
        }
    }
}

#[tonic::async_trait]
impl SutNode for Service {
    type InferStream = Pin<Box<dyn Stream<Item = Result<InferResponse, tonic::Status>> + Send>>;

    async fn describe(
        &self,
        request: Request<DescribeRequest>,
    ) -> Result<Response<DescribeResponse>, tonic::Status> {
        let mut description = self.behaviour.description.clone();
        let calls = {
            let mut seen = self.seen.lock().expect("no holder panics");
            seen.describes += 1;
            seen.describes
        };
        if let Some((after, change)) = self.behaviour.description_change
            && calls > after
        {
            change(&mut description);
        }
        let nonce = request.get_ref().nonce;
        description.nonce = if self.behaviour.honest_nonce { nonce } else { !nonce };
        tokio::time::sleep(self.behaviour.describe_delay).await;
        Ok(Response::new(description))
    }

    async fn digests(
        &self,
        request: Request<DigestsRequest>,
    ) -> Result<Response<DigestsResponse>, tonic::Status> {
        let kind = request.get_ref().tally();
        let seen = self.seen.lock().expect("no holder panics");
        let seen_as = |payload: &Bytes| (self.behaviour.digests_of)(kind, payload.clone());
        let sample = |request: &InferRequest| tally::digest(&seen_as(&request.payload));
        let answer = |(sample, reply): &(Bytes, Bytes)| {
            tally::response_digest(tally::digest(sample), &seen_as(reply))
        };
        let digests: Vec<_> = match kind {
            v1::Tally::Samples => seen.requests.iter().map(sample).collect(),
            v1::Tally::Responses => seen.replies.iter().map(answer).collect(),
        };
        let mut tally = Tally::default();
        digests.into_iter().for_each(|digest| tally.add(digest, 1));
        let entry = |(digest, count): (PayloadDigest, u64)| DigestCount {
            digest: digest.to_vec().into(),
            count,
        };
        let entries = tally.sorted();
        let total = entries.len() as u64;
        let rest = entries.into_iter().skip(request.get_ref().skip as usize);
        Ok(Response::new(DigestsResponse { entries: rest.map(entry).collect(), total }))
    }

    async fn measure(
        &self,
        _: Request<MeasureRequest>,
    ) -> Result<Response<MeasureResponse>, tonic::Status> {
        Err(tonic::Status::unimplemented("no such method"))
    }

    async fn infer(
        &self,
        request: Request<Streaming<InferRequest>>,
    ) -> Result<Response<Self::InferStream>, tonic::Status> {
        let session = request.metadata().get("netdiv-session").map(|s| s.to_str());
        let mut node = self.stream(session.and_then(Result::ok).unwrap_or_default());
        let (sender, replies) = mpsc::channel(64);
        let (mut requests, mut left) = (request.into_inner(), self.behaviour.max_requests);
        tokio::spawn(async move {
            while let (1.., Ok(Some(request))) = (left, requests.message().await) {
                left -= 1;
                for response in node(request) {
                    if sender.send(Ok(response)).await.is_err() {
                        return;
                    }
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(replies))))
    }

    async fn flush(
        &self,
        request: Request<FlushRequest>,
    ) -> Result<Response<FlushResponse>, tonic::Status> {
        let sent = request.get_ref().samples_sent;
        self.seen.lock().expect("no holder panics").flushes.push(request.into_inner());
        if !self.behaviour.acknowledges_flush {
            std::future::pending::<()>().await;
        }
        let received = || self.seen.lock().expect("no holder panics").requests.len() as u64;
        while received() < sent {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(Response::new(FlushResponse {
            samples_received: received() - self.behaviour.uncounted_samples,
        }))
    }
}

/// Serves over gRPC with generated code only.
async fn serve_grpc(service: Service) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    let server = tonic::transport::Server::builder()
        .add_service(SutNodeServer::new(service))
        .serve_with_incoming(TcpIncoming::from(listener));
    tokio::spawn(server);
    address
}

/// Serves over QUIC.
fn serve_quic(service: Service) -> String {
    let socket = quic::bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let address = socket.local_addr().expect("bound").to_string();
    let settings = QuicServer {
        tls: None,
        token: None,
        connections: Connections::new(64, |_| ()),
        mtu: None,
        window_bytes: 1 << 20,
        connection_window_bytes: 1 << 20,
        keepalive_interval: Duration::from_secs(5),
        keepalive_timeout: Duration::from_secs(10),
    };
    let (end, ending) = watch::channel(false);
    let serving = quic::serve(settings, socket, OverQuic(service), ending).expect("serves");
    tokio::spawn(async move {
        serving.await;
        drop(end);
    });
    address
}

#[derive(Clone)]
struct OverQuic(Service);

impl Handler for OverQuic {
    type Replies = Pin<Box<dyn Stream<Item = Result<Bytes, tonic::Status>> + Send>>;

    fn longest_request(&self) -> usize {
        limits::MAX_MESSAGE_BYTES
    }

    async fn describe(
        &self,
        request: DescribeRequest,
        _: Option<SocketAddr>,
    ) -> Result<DescribeResponse, tonic::Status> {
        Ok(SutNode::describe(&self.0, Request::new(request)).await?.into_inner())
    }

    async fn flush(&self, request: FlushRequest) -> Result<FlushResponse, tonic::Status> {
        Ok(SutNode::flush(&self.0, Request::new(request)).await?.into_inner())
    }

    async fn digests(&self, request: DigestsRequest) -> Result<DigestsResponse, tonic::Status> {
        Ok(SutNode::digests(&self.0, Request::new(request)).await?.into_inner())
    }

    async fn measure(&self, request: MeasureRequest) -> Result<MeasureResponse, tonic::Status> {
        Ok(SutNode::measure(&self.0, Request::new(request)).await?.into_inner())
    }

    fn infer<S>(
        &self,
        session: &SessionHeader,
        mut requests: Messages<S>,
    ) -> Result<Self::Replies, tonic::Status>
    where
        S: Stream<Item = Result<Bytes, tonic::Status>> + Send + Unpin + 'static,
    {
        let (sender, replies) = mpsc::channel(64);
        let mut node = self.0.stream(&session.name);
        let mut left = self.0.behaviour.max_requests;
        tokio::spawn(async move {
            while let (1.., Ok(Some(request))) = (left, requests.next_message().await) {
                left -= 1;
                for response in node(request) {
                    if sender.send(Ok(framing::encode(&response))).await.is_err() {
                        return;
                    }
                }
            }
        });
        Ok(Box::pin(ReceiverStream::new(replies)))
    }
}

/// Returns the address of a port that accepts connections and never sends anything.
pub fn silent_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            kept.push(stream);
        }
    });
    address
}
