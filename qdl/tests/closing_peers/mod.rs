//! Tests against peers that close HTTP/2 connections or refuse calls: which attempts are repeated,
//! and how the failures of other attempts are reported.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use h2::{Reason, RecvStream, server::SendResponse};
use http::{HeaderMap, HeaderValue, Request, Response};
use netdiv_contract::{
    PROTOCOL_VERSION,
    encoding::{self, Encoding},
    framing,
    v1::{DescribeRequest, DescribeResponse},
};
use prost::Message as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};

use crate::{
    ConnectError, Expectation, LoadGen, LoadedSamples, NetworkSettings, Qdl, Settings, survey,
};

/// Length of the prefix of a gRPC message, in bytes.
const PREFIX_BYTES: usize = 5;

/// Node over HTTP/2 that closes its first connections, or refuses its first stream.
#[derive(Clone, Default)]
struct Peer {
    /// GOAWAY codes with which it closes its first connections.
    closes_with: Vec<u8>,
    /// Refuses its first stream of samples only after a sample has arrived.
    refuses_late: bool,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    streams: AtomicUsize,
}

impl Peer {
    /// Starts the peer and returns its address.
    fn start(&self, runtime: &Runtime) -> String {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let peer = self.clone();
        runtime.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let number = peer.seen.connections.fetch_add(1, Ordering::SeqCst);
                match peer.closes_with.get(number) {
                    Some(code) => drop(tokio::spawn(close(stream, *code))),
                    None => drop(tokio::spawn(peer.clone().serve(stream))),
                }
            }
        });
        address
    }

    async fn serve(self, stream: TcpStream) {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        while let Some(Ok((request, respond))) = connection.accept().await {
            tokio::spawn(self.clone().answer(request, respond));
        }
    }

    async fn answer(self, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
        let (head, mut body) = request.into_parts();
        let is_infer = head.uri.path().ends_with("/Infer");
        if is_infer && self.seen.streams.fetch_add(1, Ordering::SeqCst) == 0 {
            if self.refuses_late {
                body.data().await;
            }
            return respond.send_reset(Reason::REFUSED_STREAM);
        }
        let head = Response::builder().header("content-type", "application/grpc");
        let mut send = respond.send_response(head.body(()).unwrap(), false).unwrap();
        if is_infer {
            while body.data().await.is_some() {}
            return;
        }
        let request = body.data().await.unwrap().unwrap();
        let asked = DescribeRequest::decode(&request[PREFIX_BYTES..]).unwrap();
        send.send_data(framing::encode(&description(asked.nonce)), false).unwrap();
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        send.send_trailers(trailers).unwrap();
    }
}

/// Closes a connection before its first call.
async fn close(mut stream: TcpStream, code: u8) {
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let go_away = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, code];
    stream.write_all(&[&settings[..], &go_away].concat()).await.unwrap();
    stream.shutdown().await.unwrap();
    // Closing the connection with unread data would reset it.
    while stream.read(&mut [0; 1024]).await.is_ok_and(|count| count > 0) {}
}

fn description(nonce: u64) -> DescribeResponse {
    DescribeResponse {
        nonce,
        protocol_version: PROTOCOL_VERSION,
        node_name: "a".into(),
        engine: "a".into(),
        model_name: "a".into(),
        max_batch: 1,
        encodings: vec![Encoding::None as i32],
        max_payload_bytes: 1 << 20,
        max_in_flight_samples: 64,
        max_in_flight_bytes: 1 << 20,
        ..DescribeResponse::default()
    }
}

#[test]
fn a_peer_that_asks_for_another_connection_gets_one() {
    let runtime = Runtime::new().unwrap();
    let peer = Peer { closes_with: vec![0, 0], ..Peer::default() };
    let address = peer.start(&runtime);
    let found = runtime.block_on(survey(&[address], &NetworkSettings::default()));
    assert_eq!(found[0].as_ref().unwrap().description.node_name, "a");
    assert_eq!(peer.seen.connections.load(Ordering::SeqCst), 3);
}

#[test]
fn a_peer_that_closes_for_another_reason_is_asked_once() {
    let runtime = Runtime::new().unwrap();
    for (code, words) in
        [(11, "GOAWAY ENHANCE_YOUR_CALM: this program exceeds its limit"), (2, "see the log there")]
    {
        let peer = Peer { closes_with: vec![code; 9], ..Peer::default() };
        let address = peer.start(&runtime);
        let found =
            runtime.block_on(survey(std::slice::from_ref(&address), &NetworkSettings::default()));
        let error = found[0].as_ref().unwrap_err();
        assert!(matches!(error, ConnectError::Closed { .. }) && error.is_loss(), "{error}");
        let error = error.to_string();
        let begins = format!("no SUT node answers at {address}: it closed the connection with");
        assert!(error.starts_with(&begins) && error.contains(words), "{error}");
        assert_eq!(peer.seen.connections.load(Ordering::SeqCst), 1);
    }
}

/// LoadGen that ignores responses.
struct Careless;

impl LoadGen for Careless {
    type Ticket = u64;

    fn first_token(&self, _: &mut u64, _: &Bytes) {}

    fn complete(&self, tickets: &mut Vec<u64>, _: &[Bytes]) {
        tickets.clear();
    }
}

fn connect(address: String) -> Qdl<Careless> {
    let sample = encoding::encode(Encoding::None, Bytes::from_static(b"sample")).unwrap();
    let source = Arc::new(LoadedSamples::from([Some(sample)]));
    Qdl::connect(Settings::new(vec![address]), &Expectation::default(), Careless, source).unwrap()
}

fn wait_until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(10), "the condition was never met");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_stream_that_is_refused_before_its_first_sample_is_opened_again() {
    let runtime = Runtime::new().unwrap();
    let peer = Peer::default();
    let qdl = connect(peer.start(&runtime));
    wait_until(|| peer.seen.streams.load(Ordering::SeqCst) == 2);
    assert!(qdl.failure().is_none(), "{:?}", qdl.failure());
}

#[test]
fn a_stream_that_is_refused_after_a_sample_is_lost_and_the_sample_goes_out_once() {
    let runtime = Runtime::new().unwrap();
    let peer = Peer { refuses_late: true, ..Peer::default() };
    let qdl = connect(peer.start(&runtime));
    qdl.issue([(1, 0)].into_iter()).unwrap();
    wait_until(|| qdl.failure().is_some());
    let failure = qdl.failure().unwrap().to_string();
    assert!(failure.contains("it ended the call with RST_STREAM REFUSED_STREAM"), "{failure}");
    assert_eq!(peer.seen.streams.load(Ordering::SeqCst), 1);
}
