//! Tests against peers that close connections and calls with a code: the message for each code.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc};

use quinn::crypto::rustls::QuicServerConfig;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tonic::{Code, Status};

use super::{describe, ids, infer, open, options};
use crate::{Http2Close, OpenError, Transport, security::ServerTls};

/// Names of the error codes of RFC 9113, by number.
const CODES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GO_AWAY: u8 = 7;

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Returns a GOAWAY frame. The first call has the stream 1.
fn go_away(last_stream: u8, code: u32, text: &[u8]) -> Vec<u8> {
    frame(GO_AWAY, 0, 0, &[&[0, 0, 0, last_stream], &code.to_be_bytes()[..], text].concat())
}

fn rst_stream(code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, 1, &code.to_be_bytes())
}

/// Moment at which a peer sends its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    AtOnce,
    AtCall,
}

/// Starts a peer that sends these bytes on each connection, and closes its half.
async fn peer(when: When, bytes: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that leaves ends its connection, not the peer.
            let bytes = bytes.clone();
            tokio::spawn(async move { drop(serve(stream, when, &bytes).await) });
        }
    });
    address
}

async fn serve(mut stream: TcpStream, when: When, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
    if when == When::AtCall {
        // The preface precedes the frames.
        stream.read_exact(&mut [0; 24]).await?;
        let mut header = [0; 9];
        while header[3] != HEADERS {
            stream.read_exact(&mut header).await?;
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
            stream.read_exact(&mut vec![0; length as usize]).await?;
        }
    }
    stream.write_all(bytes).await?;
    stream.shutdown().await?;
    // Closing the connection with unread data would reset it.
    while stream.read(&mut [0; 1024]).await? > 0 {}
    Ok(())
}

/// Returns the status with which a call of `Describe` ends.
async fn described(when: When, bytes: Vec<u8>) -> Status {
    let address = peer(when, bytes).await;
    let connection = open(address, &options(Transport::Grpc)).await.unwrap();
    describe(&connection).await.unwrap_err()
}

#[tokio::test]
async fn each_code_of_go_away_has_a_message_of_its_own() {
    for when in [When::AtOnce, When::AtCall] {
        let mut messages = BTreeSet::new();
        for (code, name) in CODES.iter().enumerate() {
            let status = described(when, go_away(0, code as u32, b"too_many\x1bpings")).await;
            assert_eq!(status.code(), Code::Unavailable, "{name}: {status}");
            let close = Http2Close::of(&status).expect("it has the code");
            assert_eq!(close.invites_retry(), *name == "NO_ERROR", "{name}");
            let begins = format!("it closed the connection with GOAWAY {name}");
            let message = status.message();
            // hyper drops the text of a shutdown before the call.
            let has_text = message.contains(" (\"too_many\\") || *name == "NO_ERROR";
            assert!(
                message.starts_with(&begins) && has_text && !message.contains('\x1b'),
                "{when:?}: {message}"
            );
            let (_, advice) = message.split_once(": ").expect("advice follows");
            messages.insert(advice.to_owned());
        }
        assert_eq!(messages.len(), CODES.len(), "{messages:?}");
    }
}

#[tokio::test]
async fn an_unknown_code_is_named_and_its_text_is_cut() {
    for when in [When::AtOnce, When::AtCall] {
        let status = described(when, go_away(0, 0xbeef, &[b'x'; 10_000])).await;
        let message = status.message();
        assert!(message.contains("GOAWAY 0xbeef (\"xxx"), "{message}");
        assert!(message.contains("RFC 9113 does not define this code"), "{message}");
        assert!(message.len() < 400, "{message}");
    }
}

#[tokio::test]
async fn each_code_of_rst_stream_has_a_message_of_its_own() {
    let mut messages = BTreeSet::new();
    for (code, name) in CODES.iter().enumerate() {
        let status = described(When::AtCall, rst_stream(code as u32)).await;
        let close = Http2Close::of(&status).expect("it has the code");
        assert_eq!(close.refuses_call(), *name == "REFUSED_STREAM", "{name}");
        let begins = format!("it ended the call with RST_STREAM {name}: ");
        let advice = status.message().strip_prefix(&begins).expect("advice follows");
        messages.insert(advice.to_owned());
    }
    assert_eq!(messages.len(), CODES.len(), "{messages:?}");
}

#[tokio::test]
async fn a_stream_that_was_processed_ends_with_the_code_of_its_connection() {
    let head = [&[0x88, 0x0f, 0x10, 16][..], b"application/grpc"].concat();
    let bytes = [frame(HEADERS, 4, 1, &head), go_away(1, 2, b"out of memory")].concat();
    let address = peer(When::AtCall, bytes).await;
    let connection = open(address, &options(Transport::Grpc)).await.unwrap();
    let (_requests, mut replies) = infer(&connection).await.unwrap();
    let status = ids(&mut replies).await.1.unwrap_err();
    let words =
        "it closed the connection with GOAWAY INTERNAL_ERROR (\"out of memory\"): it failed";
    assert!(status.message().starts_with(words), "{status}");
}

#[tokio::test]
async fn a_peer_of_http_1_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        stream.shutdown().await.unwrap();
        while stream.read(&mut [0; 1024]).await.is_ok_and(|count| count > 0) {}
    });
    let connection = open(address, &options(Transport::Grpc)).await.unwrap();
    let status = describe(&connection).await.unwrap_err();
    assert!(
        status.message().starts_with("it answers over HTTP/1.1, like a web server"),
        "{status}"
    );
}

#[tokio::test]
async fn a_peer_that_speaks_another_protocol_over_quic_is_no_matter_of_trust() {
    let tls = ServerTls::unproven().unwrap().config(b"h3");
    let tls = QuicServerConfig::try_from(tls).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(tls));
    let endpoint = quinn::Endpoint::server(config, ([127, 0, 0, 1], 0).into()).unwrap();
    let address = endpoint.local_addr().unwrap();
    tokio::spawn(async move {
        let refused = endpoint.accept().await.unwrap().await;
        assert!(refused.is_err());
        endpoint.wait_idle().await;
    });
    let error = open(address, &options(Transport::Quic)).await.unwrap_err();
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("is it a SUT node of this release?"), "{error}");
}
