//! A serving engine behind TLS and a token, over HTTP/1.1 and HTTP/2.

use std::{convert::Infallible, path::Path, sync::Arc};

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use netdiv_transport::security::{ClientTls, Token, make_certificates};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::fake::{exchange, settings};
use crate::engine::{
    remote::testing::{PROMPT, tiny},
    served::settings::Dialect::Vllm,
};

const ANSWER: &str = concat!(
    "data: {\"choices\":[{\"index\":0,\"token_ids\":[7],\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":1}}\n\n",
    "data: [DONE]\n\n"
);

/// Returns an acceptor of connections with this protocol, at `localhost`.
fn acceptor(folder: &Path, protocol: &str) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_file(folder.join("localhost.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("localhost.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = config.with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// Serves connections of this version of HTTP to clients that know the token, with TLS if there is an
/// acceptor. Returns the port.
async fn serve(tls: Option<TlsAcceptor>, version: Version) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = move |request: Request<Incoming>| async move {
        let token = request.headers().get("authorization").and_then(|token| token.to_str().ok());
        let known = token == Some("Bearer a-secret-that-is-long-enough");
        let answer = Response::builder().header("content-type", "text/event-stream");
        let is_http = request.uri().scheme_str() != Some("h2c");
        let status = if known && is_http && request.version() == version { 200 } else { 401 };
        Ok::<_, Infallible>(answer.status(status).body(Full::new(Bytes::from(ANSWER))).unwrap())
    };
    tokio::spawn(async move {
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            let service = TowerToHyperService::new(tower::service_fn(answer));
            let http = Builder::new(TokioExecutor::new());
            match &tls {
                // A client that trusts another authority closes the connection here.
                Some(tls) => {
                    let Ok(connection) = tls.accept(connection).await else { continue };
                    let connection = TokioIo::new(connection);
                    tokio::spawn(async move { http.serve_connection(connection, service).await });
                }
                None => {
                    let (http, connection) = (http.http2_only(), TokioIo::new(connection));
                    tokio::spawn(async move { http.serve_connection(connection, service).await });
                }
            }
        }
    });
    port
}

#[tokio::test]
async fn http_2_is_spoken_without_tls_where_it_is_asked_for() {
    let port = serve(None, Version::HTTP_2).await;
    for (scheme, is_well) in [("h2c", true), ("http", false)] {
        let url = format!("{scheme}://127.0.0.1:{port}");
        let mut settings = settings(&[&url], Vllm, tiny(3, &[]));
        settings.servers.token = Some("Bearer a-secret-that-is-long-enough".parse().unwrap());
        let exchange = exchange(&settings);
        for _ in 0..2 {
            let mut taken = Vec::new();
            let outcome = exchange.ask(&PROMPT, &mut taken).await;
            assert_eq!(outcome.is_ok(), is_well, "{url}");
            if let Err(error) = outcome {
                assert!(error.to_string().contains(&url), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn servers_are_reached_over_tls_with_a_token() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for folder in &folders {
        make_certificates(folder.path(), &["localhost".into()]).unwrap();
    }
    let token = folders[0].path().join("token");
    std::fs::write(&token, "a-secret-that-is-long-enough").unwrap();
    for (protocol, version) in [("http/1.1", Version::HTTP_11), ("h2", Version::HTTP_2)] {
        let port = serve(Some(acceptor(folders[0].path(), protocol)), version).await;
        let url = format!("https://localhost:{port}");
        for (ca, with_token, words) in [
            (&folders[0], true, ""),
            (&folders[0], false, "status 401 Unauthorized"),
            (&folders[1], true, "invalid peer certificate"),
        ] {
            let mut settings = settings(&[&url], Vllm, tiny(3, &[]));
            settings.servers.tls =
                ClientTls::trusting_authority(&ca.path().join("ca.pem")).unwrap();
            settings.servers.token = with_token.then(|| Token::read(&token).unwrap().header());
            settings.servers.timeout = std::time::Duration::from_secs(10);
            let exchange = exchange(&settings);
            let mut taken = Vec::new();
            let outcome = exchange.ask(&PROMPT, &mut taken).await;
            let error = outcome.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(words), "{protocol}: {error}");
            assert_eq!(
                (taken.len(), error.is_empty()),
                ((words.is_empty()) as usize, words.is_empty()),
                "{error}"
            );
        }
    }
}
