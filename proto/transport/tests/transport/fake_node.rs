//! Node that sends bytes in the pieces that a test chooses, and then ends as the test chooses.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Response};
use netdiv_contract::{framing::encode_end, v1::CallStatus};
use quinn::crypto::rustls::QuicServerConfig;
use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};
use tonic::Code;

use crate::{Transport, security::ServerTls};

/// Action of the fake node after it has sent its pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Ends the stream with this status.
    Status(Code),
    /// Ends the stream without a status.
    Ends,
    /// Resets the stream.
    ResetsStream,
    /// Over QUIC: stops reading, with this code, and ends the stream with a status a second later.
    StopsReading(u32),
}

/// Starts a node that accepts one connection, answers its first call with `pieces`, and then does
/// `then`. Returns its address.
pub(super) async fn answer(transport: Transport, pieces: Vec<Bytes>, then: Then) -> SocketAddr {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    match transport {
        Transport::Grpc => {
            let listener = TcpListener::bind(any).await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(async move {
                let (stream, _) = listener.accept().await.unwrap();
                over_http2(stream, pieces, then).await;
            });
            address
        }
        Transport::Quic => {
            let tls = ServerTls::unproven().unwrap().config(b"netdiv/1");
            let tls = QuicServerConfig::try_from(tls).unwrap();
            let config = quinn::ServerConfig::with_crypto(Arc::new(tls));
            let endpoint = quinn::Endpoint::server(config, any).unwrap();
            let address = endpoint.local_addr().unwrap();
            tokio::spawn(async move {
                let connection = endpoint.accept().await.unwrap().await.unwrap();
                over_quic(connection, pieces, then).await;
                endpoint.wait_idle().await;
            });
            address
        }
    }
}

async fn pause() {
    sleep(Duration::from_micros(200)).await;
}

async fn over_http2(stream: TcpStream, pieces: Vec<Bytes>, then: Then) {
    stream.set_nodelay(true).unwrap();
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let (_request, mut respond) = connection.accept().await.unwrap().unwrap();
    let response = Response::builder().header("content-type", "application/grpc");
    let mut send = respond.send_response(response.body(()).unwrap(), false).unwrap();
    let sent = async {
        for piece in pieces {
            send.send_data(piece, false).unwrap();
            pause().await;
        }
        match then {
            Then::Status(code) => {
                let mut trailers = HeaderMap::new();
                trailers.insert("grpc-status", (code as i32).into());
                send.send_trailers(trailers).unwrap();
            }
            Then::Ends => send.send_data(Bytes::new(), true).unwrap(),
            Then::ResetsStream => send.send_reset(h2::Reason::INTERNAL_ERROR),
            Then::StopsReading(_) => unreachable!("HTTP/2 has no such signal"),
        }
        std::future::pending::<()>().await
    };
    tokio::select! {
        () = sent => {}
        // Drives the connection until the client closes it.
        _ = async { while connection.accept().await.is_some() {} } => {}
    }
}

async fn over_quic(connection: quinn::Connection, pieces: Vec<Bytes>, then: Then) {
    let (mut send, mut receive) = connection.accept_bi().await.unwrap();
    for piece in pieces {
        send.write_chunk(piece).await.unwrap();
        pause().await;
    }
    match then {
        Then::Status(code) => {
            let status = CallStatus { code: code as i32, message: String::new() };
            send.write_chunk(encode_end(&status)).await.unwrap();
            send.finish().unwrap();
        }
        Then::Ends => send.finish().unwrap(),
        Then::ResetsStream => {
            // The client receives the pieces before the reset.
            sleep(Duration::from_millis(50)).await;
            send.reset(7_u32.into()).unwrap();
        }
        Then::StopsReading(code) => {
            receive.stop(code.into()).unwrap();
            sleep(Duration::from_secs(1)).await;
            let status = CallStatus { code: Code::Aborted as i32, message: "later".into() };
            // The client may have gone.
            let _ = send.write_chunk(encode_end(&status)).await;
            let _ = send.finish();
        }
    }
    connection.closed().await;
}
