//! Bytes that are not messages, over both transports: each ends its own call with a clear status,
//! and the node keeps running.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use e2e::{Behaviour, FakeNode, LoadGen, SutNode};
use netdiv_contract::{
    PROTOCOL_VERSION, SessionHeader, framing,
    v1::{CallHeader, CallStatus, DescribeRequest, InferRequest, InferResponse},
};
use netdiv_transport::{Connection, Options, Transport};
use prost::Message as _;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use crate::calls::{TRANSPORTS, open, soon};

fn session(name: &str) -> SessionHeader {
    SessionHeader { name: name.into(), ..SessionHeader::default() }
}

async fn assert_alive(node: &SutNode, transport: Transport) {
    let request = DescribeRequest { protocol_version: PROTOCOL_VERSION, nonce: 7, evidence: true };
    let answer = soon(open(&node.address, transport).await.describe(request)).await;
    let answer = answer.expect("it runs");
    assert_eq!(answer.nonce, 7);
}

#[tokio::test]
async fn streams_that_are_no_messages() {
    let node = SutNode::start("a", &["--engine", "none", "--max-payload-bytes", "1000"]);
    let good = framing::encode(&InferRequest { id: 1, ..InferRequest::default() });
    for transport in TRANSPORTS {
        let connection = open(&node.address, transport).await;
        for (bytes, code, words) in [
            (
                &[0, 0xff, 0xff, 0xff, 0xff][..],
                Code::OutOfRange,
                "message too large: 4294967295 bytes",
            ),
            (&[0, 0, 0, 0x80, 0], Code::OutOfRange, "the limit is 17384"),
            (&[1, 0, 0, 0, 1, 0], Code::Unimplemented, "flag 1"),
            (&[77, 0, 0, 0, 1, 0], Code::Unimplemented, "flag 77"),
            (&[0, 0, 0, 0, 2, 0xff, 0xff], Code::InvalidArgument, "damaged message"),
            (&[0, 0, 0, 0, 9, 1], Code::InvalidArgument, "in the middle of a message"),
            (b"GET / HTTP/1.1\r\n", Code::Unimplemented, "flag 71"),
        ] {
            // A good sample first: it gets its response whatever follows.
            let chunks = [good.clone(), Bytes::copy_from_slice(bytes)];
            let requests = tokio_stream::iter(chunks);
            let mut replies =
                soon(connection.infer(&session(""), requests)).await.expect("a stream");
            let reply: InferResponse =
                soon(replies.next_message()).await.expect("no error").expect("a reply");
            assert_eq!((reply.id, reply.payload.len()), (1, 8));
            let refused =
                soon(replies.next_message::<InferResponse>()).await.expect_err("no message");
            assert_eq!(refused.code(), code, "{transport:?} {bytes:?}: {refused}");
            assert!(refused.message().contains(words), "{transport:?} {bytes:?}: {refused}");
        }
        let long = "x".repeat(65);
        let requests = tokio_stream::pending::<Bytes>();
        let outcome = match soon(connection.infer(&session(&long), requests)).await {
            Ok(mut replies) => soon(replies.next_message::<InferResponse>()).await.map(drop),
            Err(status) => Err(status),
        };
        assert_eq!(outcome.expect_err("refused").code(), Code::InvalidArgument);
        assert_alive(&node, transport).await;
    }
}

#[tokio::test]
async fn connections_that_speak_something_else() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let mut silent = Vec::new();
    for words in
        [&b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..], &[0; 100], &[0x16, 3, 1, 0xff, 0xff], b"PRI"]
    {
        let mut stream = TcpStream::connect(&node.address).expect("connects");
        stream.write_all(words).expect("sends");
        silent.push(stream);
        silent.push(TcpStream::connect(&node.address).expect("connects"));
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.send_to(words, &node.address).expect("sends");
    }
    for transport in TRANSPORTS {
        assert_alive(&node, transport).await;
    }
    // Connections that send nothing, or too little, are closed after a while.
    for stream in &mut silent {
        stream.set_read_timeout(Some(Duration::from_secs(15))).expect("a limit");
        let mut answer = Vec::new();
        if let Err(error) = stream.read_to_end(&mut answer) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_its_responses_delays_no_other() {
    let limits = ["--max-in-flight-samples", "64", "--echo-answer-bytes", "10000"];
    let mut node = SutNode::echo("a", &limits);
    for transport in TRANSPORTS {
        let options = Options { transport, window_bytes: 65_535, ..Options::default() };
        let connection = Connection::open(&node.address, &options).await.expect("connects");
        let requests =
            (0..1000).map(|id| framing::encode(&InferRequest { id, ..Default::default() }));
        let never_read =
            soon(connection.infer(&session("greedy"), tokio_stream::iter(requests))).await;
        for scenario in ["offline", "server"] {
            let run = LoadGen::new(&[&node.address], scenario)
                .transport(&transport.to_string())
                .fabric("500x64")
                .accuracy()
                .set("server_target_qps=1000");
            tokio::task::spawn_blocking(|| run.run().expect(0)).await.expect("a good run");
        }
        drop(never_read);
    }
    assert_eq!(node.stop().0, Some(0));
}

#[tokio::test]
async fn long_messages_that_never_come_take_no_more_memory_than_is_allowed() {
    let node = SutNode::echo("a", &["--max-in-flight-bytes", "1000000"]);
    for transport in TRANSPORTS {
        let connection = open(&node.address, transport).await;
        // The first call authenticates the client: an unauthenticated peer has only eight streams
        // over QUIC.
        soon(connection.describe(DescribeRequest::default())).await.expect("an answer");
        // All streams open before one sends: paused streams fill the window of the connection, and
        // over QUIC a call begins with bytes of this window.
        let mut streams = Vec::new();
        for _ in 0..16 {
            let (chunks, requests) = mpsc::channel(40);
            let requests = ReceiverStream::new(requests);
            let replies = soon(connection.infer(&session(""), requests)).await.expect("a stream");
            streams.push((chunks, replies));
        }
        // 60 MiB are announced, 40 are sent.
        let mut start = vec![0, 0x03, 0xc0, 0, 0];
        start.resize(1 << 20, 0x7a);
        let (start, more) = (Bytes::from(start), Bytes::from(vec![0; 1 << 20]));
        for (chunks, _) in &streams {
            for chunk in std::iter::once(&start).chain(std::iter::repeat_n(&more, 39)) {
                chunks.try_send(chunk.clone()).expect("an open stream");
            }
        }
        assert_alive(&node, transport).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        // One message being read, the first megabyte of the others, and the windows of the
        // connection.
        let resident = node.peak_resident_bytes();
        assert!(resident < 200_000_000, "{transport:?}: {resident} bytes");
        assert_alive(&node, transport).await;
    }
}

/// Sends raw bytes on a stream of a QUIC connection. Returns the status at its end.
async fn call(address: SocketAddr, bytes: &[u8]) -> CallStatus {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificateVerifier(provider)))
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"netdiv/1".to_vec()];
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(tls).expect("a configuration");
    let endpoint = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).expect("a socket");
    let config = quinn::ClientConfig::new(Arc::new(crypto));
    let connecting = endpoint.connect_with(config, address, "localhost").expect("connects");
    let connection = connecting.await.expect("shakes hands");
    let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
    send.write_all(bytes).await.expect("sends");
    send.finish().expect("ends");
    let answer = receive.read_to_end(10_000).await.expect("an answer");
    // A prefix with the flag of a status.
    assert_eq!(answer.first(), Some(&0x80), "{answer:?}");
    CallStatus::decode(&answer[5..]).expect("a status")
}

#[tokio::test]
async fn quic_calls_that_are_none() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let address: SocketAddr = node.address.parse().expect("an address");
    let header = |protocol_version: u32, method: &str| {
        let method = method.into();
        let header = CallHeader { protocol_version, method, ..CallHeader::default() };
        framing::encode(&header).to_vec()
    };
    for (bytes, code, words) in [
        (vec![], Code::InvalidArgument, "begins with a CallHeader"),
        (vec![0, 0, 0], Code::InvalidArgument, "in the middle of a message"),
        (vec![0, 0xff, 0, 0, 0], Code::OutOfRange, "message too large"),
        (vec![0, 0, 0, 0, 1, 0xff], Code::InvalidArgument, "damaged message"),
        (
            header(7, "Describe"),
            Code::FailedPrecondition,
            "version 7 of the wire contract; expected 2",
        ),
        (
            header(PROTOCOL_VERSION, "Delete\u{1b}"),
            Code::Unimplemented,
            "no method `Delete\\u{1b}`",
        ),
        (header(PROTOCOL_VERSION, "Describe"), Code::InvalidArgument, "the request is missing"),
    ] {
        let status = soon(call(address, &bytes)).await;
        assert_eq!(Code::from_i32(status.code), code, "{bytes:?}: {status:?}");
        assert!(status.message.contains(words), "{bytes:?}: {status:?}");
    }
    assert_alive(&node, Transport::Quic).await;
}

#[test]
fn a_node_whose_replies_are_no_messages_ends_the_run() {
    // Over gRPC: a reply longer than any limit.
    let node = FakeNode::start(Behaviour {
        reply: |_, request| {
            let payload = vec![0; 300 << 20].into();
            vec![InferResponse { id: request.id, payload, ..InferResponse::default() }]
        },
        ..Behaviour::good("fake")
    });
    LoadGen::new(&[&node.address], "offline")
        .fabric("2x64")
        .accuracy()
        .run()
        .expect_failure("message too large");
}

/// Accepts any certificate.
#[derive(Debug)]
struct AnyCertificateVerifier(Arc<rustls::crypto::CryptoProvider>);

impl rustls::client::danger::ServerCertVerifier for AnyCertificateVerifier {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
