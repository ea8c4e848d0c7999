//! Faults at a node, as its clients see them: damaged messages, an end in mid-run, engines that hang, too many
//! connections.

use std::time::Duration;

use bytes::Bytes;
use e2e::{SutNode, process::transport};
use netdiv_proto::{
    PROTOCOL_VERSION, SessionHeader,
    burst::Messages,
    checksum, framing,
    v1::{DescribeRequest, InferRequest, InferResponse},
};
use netdiv_transport::{Connection, Options, Replies, Transport};
use tonic::{Code, Status};

async fn open(node: &SutNode) -> Connection {
    let transport = match transport() {
        "quic" => Transport::Quic,
        _ => Transport::Grpc,
    };
    let options = Options { transport, ..Options::default() };
    Connection::open(&node.address, &options).await.expect("connects")
}

/// Nothing here may take long; a hang is a failure.
async fn soon<T>(call: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), call).await.expect("an answer in time")
}

fn session(checksums: bool) -> SessionHeader {
    SessionHeader { checksums, ..SessionHeader::default() }
}

fn request(id: u64, payload: &'static [u8]) -> InferRequest {
    InferRequest { id, payload: Bytes::from_static(payload), ..InferRequest::default() }
}

/// The same with its checksum.
fn sealed(request: InferRequest) -> InferRequest {
    let payload = checksum::of_payload(&request.payload);
    let InferRequest { id, encoding, decoded_bytes, .. } = request;
    let crc32c = Some(checksum::of_request(payload, id, encoding, decoded_bytes));
    InferRequest { crc32c, ..request }
}

/// A stream with these messages on it, whose client does not end its half.
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

async fn reply(replies: &mut Messages<Replies>) -> Result<Option<InferResponse>, Status> {
    soon(replies.next_message()).await
}

#[tokio::test]
async fn a_flipped_bit_ends_the_stream_and_is_named() {
    let node = SutNode::echo("a", &[]);
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
        // What came before is answered, with a checksum that is right; what comes behind is not looked at.
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
    // A sample that the node refuses has a checksum as well.
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
    // One that nobody asked for is not looked at.
    let odd = InferRequest { crc32c: Some(1), ..request(2, b"") };
    let mut replies = send(&connection, &session(false), &[request(1, b""), odd]).await;
    for id in [1, 2] {
        let answer = reply(&mut replies).await.expect("no error").expect("a reply");
        assert_eq!((answer.id, answer.crc32c), (id, None));
    }
}
