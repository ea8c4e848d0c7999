//! Test node without an engine. Both transports serve it like the real node.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_contract::{
    SessionHeader,
    burst::{BurstOutcome, Messages},
    framing::encode,
    limits,
    v1::*,
};
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
};
use tonic::{Status, transport::Server};

use super::ChannelStream;
use crate::{
    Connections, Handler, Transport, grpc,
    quic::{self, QuicServer},
    security::ServerToken,
};

/// Test node: its settings, and counters that tests read.
#[derive(Debug, Clone)]
pub(super) struct TestNode {
    pub(super) longest: usize,
    /// Window of each QUIC stream for receiving and for sending, in bytes.
    pub(super) window_bytes: u32,
    /// Length of the name that the node reports, in bytes.
    pub(super) name_bytes: usize,
    /// Sends replies on a stream without end, instead of one reply for each request.
    pub(super) endless: bool,
    /// Number of chunks of endless replies that the transport has taken.
    pub(super) taken: Arc<AtomicUsize>,
    /// Number of flushes in progress for the session `never`. These flushes do not end.
    pub(super) flushing: Arc<AtomicUsize>,
    pub(super) connections: Connections,
    pub(super) token: Option<Arc<ServerToken>>,
}

impl Default for TestNode {
    fn default() -> Self {
        Self {
            longest: limits::MAX_MESSAGE_BYTES,
            window_bytes: limits::STREAM_WINDOW_BYTES,
            name_bytes: 4,
            endless: false,
            taken: Arc::default(),
            flushing: Arc::default(),
            connections: Connections::new(64, |_| ()),
            token: None,
        }
    }
}

/// Test node that serves until this value is dropped or [`Self::end`] is called.
pub(super) struct Serving {
    pub(super) address: SocketAddr,
    closing: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Serving {
    /// Ends the node, and waits until it has ended.
    pub(super) async fn end(self) {
        self.closing.send_replace(true);
        self.task.await.unwrap();
    }
}

impl TestNode {
    pub(super) async fn serve(self, transport: Transport) -> Serving {
        let (closing, mut watching) = watch::channel(false);
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (address, task) = match transport {
            Transport::Grpc => {
                let listener = TcpListener::bind(any).await.unwrap();
                let address = listener.local_addr().unwrap();
                let incoming =
                    grpc::incoming(listener, None, self.connections.clone(), closing.subscribe());
                let service = grpc::SutNodeService::new(self.clone(), self.token);
                let served = async move {
                    let end = async { drop(watching.wait_for(|closing| *closing).await) };
                    let server = Server::builder().add_service(service);
                    server.serve_with_incoming_shutdown(incoming, end).await.unwrap();
                };
                (address, tokio::spawn(served))
            }
            Transport::Quic => {
                let socket = quic::bind(any).unwrap();
                let address = socket.local_addr().unwrap();
                let settings = QuicServer {
                    tls: None,
                    token: self.token.clone(),
                    connections: self.connections.clone(),
                    mtu: None,
                    window_bytes: self.window_bytes,
                    connection_window_bytes: limits::CONNECTION_WINDOW_BYTES,
                    keepalive_interval: Duration::from_secs(5),
                    keepalive_timeout: Duration::from_secs(10),
                };
                let served = quic::serve(settings, socket, self, watching).unwrap();
                (address, tokio::spawn(served))
            }
        };
        Serving { address, closing, task }
    }
}

/// Guard that counts a call as in progress until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Handler for TestNode {
    type Replies = ChannelStream<Result<Bytes, Status>>;

    fn longest_request(&self) -> usize {
        self.longest
    }

    async fn describe(
        &self,
        request: DescribeRequest,
        peer: Option<SocketAddr>,
    ) -> Result<DescribeResponse, Status> {
        let host_name = peer.unwrap().ip().to_string();
        let node_name = "n".repeat(self.name_bytes);
        Ok(DescribeResponse { nonce: request.nonce, node_name, host_name, ..Default::default() })
    }

    async fn flush(&self, request: FlushRequest) -> Result<FlushResponse, Status> {
        if request.session == "never" {
            let _until_dropped = Counted::new(self.flushing.clone());
            std::future::pending::<()>().await;
        }
        Ok(FlushResponse { samples_received: request.samples_sent })
    }

    async fn digests(&self, _: DigestsRequest) -> Result<DigestsResponse, Status> {
        Err(Status::failed_precondition("no digests are kept"))
    }

    async fn measure(&self, _: MeasureRequest) -> Result<MeasureResponse, Status> {
        Err(Status::failed_precondition("this node dials no other"))
    }

    fn infer<S>(
        &self,
        session: &SessionHeader,
        mut requests: Messages<S>,
    ) -> Result<Self::Replies, Status>
    where
        S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static,
    {
        if session.name == "refused" {
            return Err(Status::resource_exhausted("no room for this session"));
        }
        let (sender, receiver) = mpsc::channel(1);
        if self.endless {
            let taken = self.taken.clone();
            tokio::spawn(async move {
                let chunk = Bytes::from(super::responses(&[1], 64 << 10));
                while sender.send(Ok(chunk.clone())).await.is_ok() {
                    taken.fetch_add(1, Ordering::Relaxed);
                }
            });
            return Ok(ChannelStream(receiver));
        }
        tokio::spawn(async move {
            let mut burst: Vec<InferRequest> = Vec::new();
            loop {
                let next = requests.next_burst(&mut burst).await;
                for InferRequest { id, payload, .. } in burst.drain(..) {
                    let reply = InferResponse { id, payload, ..Default::default() };
                    // The client may be gone.
                    let _ = sender.send(Ok(encode(&reply))).await;
                }
                match next {
                    Ok(BurstOutcome::End) => return,
                    Ok(_) => {}
                    Err(status) => return drop(sender.send(Err(status)).await),
                }
            }
        });
        Ok(ChannelStream(receiver))
    }
}
