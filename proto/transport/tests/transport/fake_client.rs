//! Client that sends bytes in the pieces that a test chooses.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request};
use netdiv_contract::{
    framing::{Decoder, Frame, encode},
    limits::MAX_MESSAGE_BYTES,
    v1::{CallHeader, InferResponse},
};
use quinn::crypto::rustls::QuicClientConfig;
use tokio::{net::TcpStream, time::sleep};
use tonic::Code;

use crate::{Transport, security::ClientTls};

/// Outcome of a call: the ids of the replies, and the status of the call.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) ids: Vec<u64>,
    pub(super) code: Code,
    pub(super) message: String,
}

/// Makes an `Infer` call, sends its requests in these pieces, ends the client's half, and reads the
/// replies.
pub(super) async fn infer(transport: Transport, node: SocketAddr, pieces: Vec<Bytes>) -> Outcome {
    match transport {
        Transport::Grpc => over_http2(node, pieces).await,
        Transport::Quic => over_quic(node, pieces).await,
    }
}

/// Pauses after a piece, so that the next piece is not sent together with it.
async fn pause() {
    sleep(Duration::from_micros(200)).await;
}

async fn over_http2(node: SocketAddr, pieces: Vec<Bytes>) -> Outcome {
    let stream = TcpStream::connect(node).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post(format!("http://{node}/netdiv.v1.SutNode/Infer"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .unwrap();
    let (response, mut send) = client.ready().await.unwrap().send_request(request, false).unwrap();
    for piece in pieces {
        // A node may end the call before it has received all pieces.
        let _ = send.send_data(piece, false);
        pause().await;
    }
    let _ = send.send_data(Bytes::new(), true);
    let (head, mut body) = response.await.unwrap().into_parts();
    let mut decoder = Decoder::new(MAX_MESSAGE_BYTES);
    while let Some(chunk) = body.data().await {
        let chunk = chunk.unwrap();
        body.flow_control().release_capacity(chunk.len()).unwrap();
        decoder.push(chunk);
    }
    let trailers = body.trailers().await.unwrap();
    let end: HeaderMap = trailers.unwrap_or(head.headers);
    let text = |name| end.get(name).map_or("", |value| value.to_str().unwrap());
    let message = text("grpc-message").replace("%20", " ");
    Outcome {
        ids: ids(&mut decoder).0,
        code: Code::from_bytes(text("grpc-status").as_bytes()),
        message,
    }
}

/// Opens a QUIC connection without netdiv's client.
pub(super) async fn connect(node: SocketAddr) -> (quinn::Endpoint, quinn::Connection) {
    let tls = ClientTls::trusting().unwrap().config(b"netdiv/1");
    let tls = QuicClientConfig::try_from(tls).unwrap();
    let mut endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(tls)));
    let connection = endpoint.connect(node, "localhost").unwrap().await.unwrap();
    (endpoint, connection)
}

pub(super) fn header(method: &str) -> CallHeader {
    let method = method.into();
    CallHeader { protocol_version: 1, method, ..CallHeader::default() }
}

async fn over_quic(node: SocketAddr, pieces: Vec<Bytes>) -> Outcome {
    let pieces = [vec![encode(&header("Infer"))], pieces].concat();
    over_quic_stream(node, pieces).await
}

/// Makes a call over QUIC. The pieces include the call's header.
pub(super) async fn over_quic_stream(node: SocketAddr, pieces: Vec<Bytes>) -> Outcome {
    let (_endpoint, connection) = connect(node).await;
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    for piece in pieces {
        // A node may end the call before it has received all pieces.
        let _ = send.write_chunk(piece).await;
        pause().await;
    }
    let _ = send.finish();
    let mut decoder = Decoder::new(MAX_MESSAGE_BYTES);
    decoder.push(receive.read_to_end(usize::MAX).await.unwrap().into());
    let (ids, end) = ids(&mut decoder);
    let (code, message) = end.expect("a CallStatus ends the stream");
    Outcome { ids, code, message }
}

fn ids(decoder: &mut Decoder) -> (Vec<u64>, Option<(Code, String)>) {
    let mut ids = Vec::new();
    loop {
        match decoder.next_frame::<InferResponse>().unwrap() {
            Some(Frame::Message(response)) => ids.push(response.id),
            Some(Frame::End(end)) => return (ids, Some((Code::from_i32(end.code), end.message))),
            None => return (ids, None),
        }
    }
}
