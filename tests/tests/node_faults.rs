//! Faults at a node, as its clients see them: damaged messages, an end in mid-run, engines that
//! hang, too many connections.

use std::{io::Write as _, net::TcpStream, time::Duration};

use bytes::Bytes;
use e2e::{Folder, SutNode};
use netdiv_contract::{
    PROTOCOL_VERSION, SessionHeader,
    burst::Messages,
    checksum, framing,
    v1::{DescribeRequest, FlushRequest, InferRequest, InferResponse},
};
use netdiv_node_common::resources::descriptors::raise_limit;
use netdiv_transport::{
    Connection, Options, Replies,
    security::{ClientTls, TlsFiles, Token, make_certificates},
};
use tonic::{Code, Status, transport::Channel};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use crate::calls::{options, soon};

async fn open(node: &SutNode) -> Connection {
    Connection::open(&node.address, &options()).await.expect("connects")
}

fn session(checksums: bool) -> SessionHeader {
    SessionHeader { checksums, ..SessionHeader::default() }
}

fn request(id: u64, payload: &'static [u8]) -> InferRequest {
    InferRequest { id, payload: Bytes::from_static(payload), ..InferRequest::default() }
}

/// Returns the request with its checksum, which sessions with checksums require.
fn sealed(request: InferRequest) -> InferRequest {
    let payload = checksum::payload_checksum(&request.payload);
    let InferRequest { id, encoding, decoded_bytes, .. } = request;
    let crc32c = Some(checksum::request_checksum(payload, id, encoding, decoded_bytes));
    InferRequest { crc32c, ..request }
}

/// Opens a stream and sends these messages. The client does not end its half.
async fn send(
    connection: &Connection,
    session: &SessionHeader,
    messages: &[InferRequest],
) -> Messages<Replies> {
    let chunks: Vec<Bytes> = messages.iter().map(framing::encode).collect();
    let requests = tokio_stream::StreamExt::chain(
        tokio_stream::iter(chunks),
        tokio_stream::pending::<Bytes>(),
    );
    soon(connection.infer(session, requests)).await.expect("a stream")
}

/// Waits until the node has read this number of samples.
async fn until_read(connection: &Connection, samples_sent: u64) {
    let flush = FlushRequest { samples_sent, ..FlushRequest::default() };
    soon(connection.flush(flush)).await.expect("acknowledged");
}

/// Sends one sample on a separate stream and reads the response.
async fn exchange(connection: &Connection, id: u64) {
    let requests = tokio_stream::iter([framing::encode(&request(id, b"a sample"))]);
    let mut replies = soon(connection.infer(&session(false), requests)).await.expect("a stream");
    assert_eq!(reply(&mut replies).await.expect("no error").expect("a reply").id, id);
    assert_eq!(reply(&mut replies).await.expect("a plain end"), None);
}

async fn reply(replies: &mut Messages<Replies>) -> Result<Option<InferResponse>, Status> {
    soon(replies.next_message()).await
}

#[tokio::test]
async fn a_flipped_bit_ends_the_stream_and_is_named() {
    let node = SutNode::echo("a", &["--echo-answer-bytes", "0"]);
    let connection = open(&node).await;
    let asked = DescribeRequest { protocol_version: PROTOCOL_VERSION, nonce: 1, evidence: false };
    assert!(soon(connection.describe(asked)).await.expect("it answers").checksums);
    let good = sealed(request(7, b"a good sample"));
    let sent = sealed(request(0x0001_0000_0200_0003, b"another one"));
    let payload = Bytes::from_static(b"anothes one");
    for (damaged, id, words) in [
        (InferRequest { payload, ..sent.clone() }, "0x0001000002000003", "of 11 bytes"),
        (
            InferRequest { id: sent.id ^ 1 << 40, ..sent.clone() },
            "0x0001010002000003",
            "was changed",
        ),
        (
            InferRequest { decoded_bytes: 1 << 20, ..sent.clone() },
            "0x0001000002000003",
            "was changed",
        ),
        (InferRequest { encoding: 1, ..sent.clone() }, "0x0001000002000003", "was changed"),
        (InferRequest { crc32c: None, ..sent.clone() }, "0x0001000002000003", "has no checksum"),
    ] {
        // Earlier samples get a response with a correct checksum; later samples are ignored.
        let mut replies = send(&connection, &session(true), std::slice::from_ref(&good)).await;
        let answer = reply(&mut replies).await.expect("no error").expect("a reply");
        assert_eq!((answer.id, &answer.payload[..]), (7, &b"a good sample"[..]));
        checksum::check_response(&answer).expect("the node's checksum is right");
        drop(replies);
        let messages = [damaged, sealed(request(8, b"behind it"))];
        let mut replies = send(&connection, &session(true), &messages).await;
        let refused = reply(&mut replies).await.expect_err("the stream ends");
        assert_eq!(refused.code(), Code::DataLoss, "{refused}");
        let text = refused.message();
        assert!(text.contains(id) && text.contains(words), "{text}");
    }
    // The response to a refused sample has a checksum as well.
    let bad = sealed(InferRequest { encoding: 77, ..request(9, b"who knows") });
    let mut replies = send(&connection, &session(true), &[bad]).await;
    let refusal = reply(&mut replies).await.expect("no error").expect("a reply");
    assert!(!refusal.error.is_empty(), "{refusal:?}");
    checksum::check_response(&refusal).expect("the node's checksum is right");
}

#[tokio::test]
async fn a_stream_without_checksums_has_none() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let connection = open(&node).await;
    // A checksum that was not requested is ignored.
    let odd = InferRequest { crc32c: Some(1), ..request(2, b"") };
    let mut replies = send(&connection, &session(false), &[request(1, b""), odd]).await;
    for id in [1, 2] {
        let answer = reply(&mut replies).await.expect("no error").expect("a reply");
        assert_eq!((answer.id, answer.crc32c), (id, None));
    }
}

/// Returns the reply to a Kubernetes probe, which is always over gRPC.
async fn health(channel: &Channel) -> Result<ServingStatus, Status> {
    let asked = HealthCheckRequest { service: String::new() };
    let answer = soon(HealthClient::new(channel.clone()).check(asked)).await?.into_inner();
    Ok(answer.status())
}

async fn until_healthy(channel: &Channel) {
    soon(async {
        while health(channel).await.expect("it answers") != ServingStatus::Serving {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

async fn channel(node: &SutNode) -> Channel {
    let address = format!("http://{}", node.address);
    Channel::from_shared(address).expect("an address").connect().await.expect("connects")
}

async fn until_it_refuses(channel: &Channel) {
    soon(async {
        while health(channel).await.expect("it answers") == ServingStatus::Serving {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// Opens a stream, which may fail at once or with its first message. Returns the error.
async fn refusal(connection: &Connection) -> Status {
    let requests = tokio_stream::pending::<Bytes>();
    match soon(connection.infer(&session(false), requests)).await {
        Ok(mut replies) => reply(&mut replies).await.expect_err("no stream is accepted"),
        Err(status) => status,
    }
}

#[tokio::test]
async fn a_node_that_ends_answers_what_it_has_read_and_says_so() {
    let slow = ["--echo-batch", "2s", "--drain-timeout", "20s"];
    let mut node = SutNode::echo("leaving", &slow);
    let (connection, probe) = (open(&node).await, channel(&node).await);
    assert_eq!(health(&probe).await.expect("it answers"), ServingStatus::Serving);
    // The engine has the first sample; the second waits for its turn.
    let messages = [request(1, b"one"), request(2, b"two")];
    let mut replies = send(&connection, &session(false), &messages).await;
    let ended = [framing::encode(&request(3, b"three"))];
    let requests = tokio_stream::iter(ended);
    let mut finished = soon(connection.infer(&session(false), requests)).await.expect("a stream");
    until_read(&connection, 3).await;
    node.signal("-TERM");
    until_it_refuses(&probe).await;
    let words = "the node was asked to end (SIGTERM)";
    for status in [refusal(&connection).await, refusal(&open(&node).await).await] {
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        assert!(status.message().contains(words), "{status}");
    }
    let asked = DescribeRequest { protocol_version: PROTOCOL_VERSION, ..Default::default() };
    let refused = soon(connection.describe(asked)).await.expect_err("no run begins here");
    assert!(refused.message().contains(words), "{refused}");
    for id in [1, 2] {
        let answer = reply(&mut replies).await.expect("it is answered first").expect("a reply");
        assert_eq!(answer.id, id);
    }
    let end = reply(&mut replies).await.expect_err("the stream ends with a reason");
    assert_eq!(end.code(), Code::Unavailable, "{end}");
    assert!(end.message().contains("everything that it had read is answered"), "{end}");
    // A client that ended its half gets no reason.
    assert_eq!(reply(&mut finished).await.expect("a reply").expect("a reply").id, 3);
    assert_eq!(reply(&mut finished).await.expect("a plain end"), None);
    drop((replies, finished, connection, probe));
    let (code, log) = node.wait();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("drained answered=3 dropped=0"), "{log}");
}

#[tokio::test]
async fn what_a_node_drops_at_its_end_is_counted() {
    let hung = ["--echo-batch", "1h", "--drain-timeout", "200ms"];
    let mut node = SutNode::echo("leaving", &hung);
    let connection = open(&node).await;
    let messages = [request(1, b"one"), request(2, b"two")];
    let replies = send(&connection, &session(false), &messages).await;
    until_read(&connection, 2).await;
    let (code, log) = node.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("drained answered=0 dropped=2"), "{log}");
    drop(replies);
}

#[tokio::test]
async fn a_later_signal_ends_a_node_at_once() {
    let hung = ["--echo-batch", "1h", "--drain-timeout", "10m"];
    let mut node = SutNode::echo("leaving", &hung);
    let connection = open(&node).await;
    let replies = send(&connection, &session(false), &[request(1, b"one")]).await;
    until_read(&connection, 1).await;
    node.signal("-TERM");
    node.wait_for_log("asked to end");
    // This signal still belongs to the first.
    node.signal("-INT");
    tokio::time::sleep(Duration::from_millis(1200)).await;
    node.signal("-TERM");
    let (code, log) = node.wait();
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("second signal; ending at once"), "{log}");
    drop(replies);
}

#[tokio::test]
async fn an_engine_that_hangs_is_named_and_the_node_recovers() {
    // Eight samples take two seconds, and one sample a quarter of a second.
    let batch = ["--max-batch", "8", "--batch-timeout", "200ms", "--echo-sample", "250ms"];
    let mut node = SutNode::echo("a", &[&batch[..], &["--engine-timeout", "1s"]].concat());
    let (connection, probe) = (open(&node).await, channel(&node).await);
    let mut idle = send(&connection, &session(false), &[]).await;
    // More samples than one batch: the waiting samples are abandoned too.
    let messages: Vec<_> = (0..9).map(|id| request(id, b"a sample")).collect();
    let mut replies = send(&connection, &session(false), &messages).await;
    let aborted = reply(&mut replies).await.expect_err("the stream ends");
    assert_eq!(aborted.code(), Code::Aborted, "{aborted}");
    assert!(aborted.message().contains("engine 0 has been in a batch of"), "{aborted}");
    assert!(aborted.message().contains("its samples are abandoned"), "{aborted}");
    node.wait_for_log("the node is unwell: engine 0 has been in a batch of");
    until_it_refuses(&probe).await;
    let refused = refusal(&connection).await;
    assert_eq!(refused.code(), Code::Unavailable, "{refused}");
    assert!(refused.message().contains("the node is unwell: engine 0"), "{refused}");
    node.wait_for_log("the node is well again");
    until_healthy(&probe).await;
    let mut replies = send(&connection, &session(false), &[request(9, b"the next one")]).await;
    let answer = reply(&mut replies).await.expect("no error").expect("a reply");
    assert_eq!(answer.id, 9);
    // A stream without samples in flight stays open.
    let pending =
        tokio::time::timeout(Duration::from_millis(10), idle.next_message::<InferResponse>());
    assert!(pending.await.is_err(), "it is still open");
}

/// Opens a connection and makes a call. Returns the connection if the node serves it.
async fn connect_and_call(node: &SutNode, options: &Options) -> Result<Connection, String> {
    let opened = soon(Connection::open(&node.address, options)).await;
    let connection = opened.map_err(|error| error.to_string())?;
    let asked = DescribeRequest { protocol_version: PROTOCOL_VERSION, ..Default::default() };
    match soon(connection.describe(asked)).await {
        Ok(_) => Ok(connection),
        Err(status) => Err(status.to_string()),
    }
}

async fn until_served(node: &SutNode, options: &Options) -> Connection {
    let served = async {
        loop {
            match connect_and_call(node, options).await {
                Ok(connection) => return connection,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), served).await.expect("a connection in time")
}

#[tokio::test]
async fn connections_that_never_finish_block_no_client() {
    let folder = Folder::create();
    make_certificates(folder.root(), &["127.0.0.1".to_owned()]).expect("certificates");
    let (certificate, key) = (folder.path("127.0.0.1.pem"), folder.path("127.0.0.1.key"));
    let certified = ["--tls-certificate", &certificate, "--tls-key", &key];
    let trust = TlsFiles { ca: Some(folder.root().join("ca.pem")), ..TlsFiles::default() };
    let trusting =
        Options { tls: Some(ClientTls::load(&trust).expect("an authority")), ..options() };
    // The beginning of a ClientHello that never ends.
    let half_a_handshake = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    for (args, options, words) in [
        (&[][..], options(), &b""[..]),
        (&[], options(), b"PRI * HTTP"),
        (&certified, trusting, &half_a_handshake),
    ] {
        let node = SutNode::echo("a", &[args, &["--max-connections", "8"]].concat());
        let established = connect_and_call(&node, &options).await.expect("it is served");
        raise_limit().expect("the limit of open files can be raised");
        let strangers: Vec<_> = (0..200)
            .map(|_| {
                let mut stream = TcpStream::connect(&node.address).expect("connects");
                stream.write_all(words).expect("sends");
                stream
            })
            .collect();
        connect_and_call(&node, &options).await.expect("pending connections take no permit");
        exchange(&established, 1).await;
        drop(strangers);
    }
}

#[tokio::test]
async fn connections_are_limited_and_a_place_is_free_again() {
    let mut node = SutNode::echo("a", &["--max-connections", "2"]);
    let (first, second) = (open(&node).await, open(&node).await);
    exchange(&first, 1).await;
    exchange(&second, 2).await;
    for _ in 0..3 {
        let refused = connect_and_call(&node, &options()).await.expect_err("no third connection");
        let words = "the node has 2 connections and accepts no more (--max-connections)";
        assert!(refused.contains(words), "{refused}");
    }
    node.wait_for_log("accepts no more (--max-connections)");
    exchange(&first, 3).await;
    drop(second);
    until_served(&node, &options()).await;
}

#[tokio::test]
async fn a_place_is_for_those_who_call() {
    let node = SutNode::echo("a", &["--max-connections", "1"]);
    let silent = open(&node).await;
    let caller = connect_and_call(&node, &options())
        .await
        .expect("a connection without a call has no permit");
    // A connection that has made a call may be silent for longer than that.
    tokio::time::sleep(Duration::from_secs(12)).await;
    exchange(&caller, 1).await;
    drop(silent);
}

#[tokio::test]
async fn streams_are_limited() {
    let node = SutNode::echo("a", &[]);
    let mut open_streams = Vec::new();
    let mut connections = Vec::new();
    let refused = 'all: loop {
        let connection = open(&node).await;
        // A connection has at most 64 calls.
        for _ in 0..60 {
            let requests = tokio_stream::pending::<Bytes>();
            match soon(connection.infer(&session(false), requests)).await {
                Ok(mut replies) => {
                    // Over QUIC a refusal arrives as the first message.
                    let first = replies.next_message::<InferResponse>();
                    match tokio::time::timeout(Duration::from_millis(2), first).await {
                        Err(_) => open_streams.push(replies),
                        Ok(outcome) => break 'all outcome.expect_err("no sample was sent"),
                    }
                }
                Err(status) => break 'all status,
            }
            assert!(open_streams.len() < 400, "there is no limit");
        }
        connections.push(connection);
    };
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    assert!(refused.message().contains("256 streams are open"), "{refused}");
    drop(open_streams);
    until_served(&node, &options()).await;
}

#[tokio::test]
async fn a_token_is_read_again_on_sighup() {
    let folder = Folder::create();
    let write = |text: &str| folder.write("token", text);
    let path = write("correct-horse-battery\n");
    let mut node = SutNode::echo("a", &["--token-file", &path]);
    let token = || Some(Token::read(path.as_ref()).expect("a token"));
    let knowing = || Options { token: token(), ..options() };
    let before = knowing();
    connect_and_call(&node, &before).await.expect("the token is right");
    write("short\n");
    node.signal("-HUP");
    node.wait_for_log("the token cannot be reloaded");
    connect_and_call(&node, &before).await.expect("the token is still right");
    write("correct-horse-staples\n");
    node.signal("-HUP");
    node.wait_for_log("the token was reloaded");
    let refused = connect_and_call(&node, &before).await.expect_err("the token is old");
    assert!(refused.contains("the token is missing or wrong"), "{refused}");
    connect_and_call(&node, &knowing()).await.expect("the token is new");
}
