//! A node that silently stops reading a QUIC stream of samples ends the run at once. HTTP/2 has no
//! such signal.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use e2e::LoadGen;
use netdiv_contract::{
    PROTOCOL_VERSION,
    burst::Messages,
    framing,
    layout::InputLayout,
    limits,
    v1::{CallHeader, CallStatus, DescribeRequest, DescribeResponse},
};
use quinn::{RecvStream, SendStream, crypto::rustls::QuicServerConfig};
use rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use tokio::{runtime::Runtime, sync::mpsc};
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};

/// Starts a node that describes itself and stops reading each stream of samples.
fn start() -> (Runtime, SocketAddr) {
    let runtime = Runtime::new().expect("a runtime");
    let endpoint = {
        let _inside = runtime.enter();
        quinn::Endpoint::server(config(), ([127, 0, 0, 1], 0).into()).expect("a port")
    };
    let address = endpoint.local_addr().expect("bound");
    runtime.spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(async move {
                let connection = incoming.await.expect("shakes hands");
                while let Ok((send, receive)) = connection.accept_bi().await {
                    tokio::spawn(answer(send, receive));
                }
            });
        }
    });
    (runtime, address)
}

fn config() -> quinn::ServerConfig {
    let made = rcgen::generate_simple_self_signed(["a".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a pair");
    tls.alpn_protocols = vec![b"netdiv/1".to_vec()];
    let tls = QuicServerConfig::try_from(tls).expect("a configuration");
    quinn::ServerConfig::with_crypto(Arc::new(tls))
}

async fn answer(mut send: SendStream, mut receive: RecvStream) {
    let (sender, chunks) = mpsc::channel(1);
    let mut messages = Messages::new(
        ReceiverStream::new(chunks).map(Ok::<_, tonic::Status>),
        limits::MAX_HEADER_BYTES,
    );
    let reading = async {
        while let Ok(Some(chunk)) = receive.read_chunk(4096, true).await {
            if sender.send(chunk.bytes).await.is_err() {
                break;
            }
        }
        // The requests that were read are still owed a reply.
        std::future::pending::<()>().await
    };
    let called = async {
        let header: CallHeader = messages.next_message().await.expect("read").expect("a header");
        match header.method.as_str() {
            "Describe" => messages.next_message::<DescribeRequest>().await.expect("read"),
            _ => None,
        }
    };
    let asked = tokio::select! {
        asked = called => asked,
        () = reading => return,
    };
    let Some(asked) = asked else {
        receive.stop(0_u32.into()).expect("it is open");
        // The other half stays open.
        return std::future::pending().await;
    };
    let said = DescribeResponse {
        nonce: asked.nonce,
        protocol_version: PROTOCOL_VERSION,
        node_name: "half".into(),
        engine: "half".into(),
        model_name: "none".into(),
        max_batch: 1,
        input: Some(InputLayout::default()),
        encodings: vec![0],
        max_payload_bytes: 1 << 20,
        max_in_flight_samples: 64,
        max_in_flight_bytes: 1 << 20,
        ..DescribeResponse::default()
    };
    let end = framing::encode_end(&CallStatus::default());
    send.write_all_chunks(&mut [framing::encode(&said), end]).await.expect("sends");
    send.finish().expect("ends");
    let _ = send.stopped().await;
}

#[test]
fn a_node_that_stops_reading_ends_the_run() {
    let (_runtime, address) = start();
    for scenario in ["offline", "single-stream"] {
        let outcome = LoadGen::new(&[&address.to_string()], scenario)
            .transport("quic")
            .fabric("1000x100")
            .accuracy()
            .run();
        assert!(outcome.time < Duration::from_secs(15), "{:?}", outcome.time);
        outcome.expect_failure("lost node half: it stopped reading a stream of samples");
    }
}
