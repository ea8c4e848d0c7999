//! Tests of pending connections, which have no admitted call: they keep no client out, and have
//! their own limits.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use netdiv_contract::v1::*;
use quinn::crypto::rustls::QuicClientConfig;
use tonic::Code;

use super::{
    BOTH, describe,
    node::{Serving, TestNode},
    open, options,
};
use crate::{
    Connections, Options, Transport,
    connections::STRANGER_CALLS,
    security::{ClientTls, ServerToken, Token},
};

const NEVER: Duration = Duration::from_secs(3600);

/// Maximum number of pending connections of the node under test.
const STRANGERS: usize = 8;

/// Starts a node that requires a token and has a small pool of pending connections. Returns the
/// node, the options of a client with the right token, and the options of a client with a wrong
/// token.
async fn closed_lab(transport: Transport) -> (Serving, Options, Options) {
    let folder = tempfile::tempdir().unwrap();
    let token = |text: &str| {
        let path = folder.path().join(text);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (right, wrong) = (token("0123456789abcdef"), token("0123456789abcdeX"));
    let token = Some(Arc::new(ServerToken::load(right.clone()).unwrap()));
    let connections = Connections::with_strangers(2, STRANGERS, NEVER, |_| ());
    let node = TestNode { connections, token, ..TestNode::default() }.serve(transport).await;
    let client =
        |path: &Path| Options { token: Some(Token::read(path).unwrap()), ..options(transport) };
    (node, client(&right), client(&wrong))
}

#[tokio::test]
async fn strangers_block_no_client() {
    for transport in BOTH {
        let (node, right, wrong) = closed_lab(transport).await;
        let client = open(node.address, &right).await.unwrap();
        describe(&client).await.unwrap();
        let mut strangers = Vec::new();
        for _ in 0..5 * STRANGERS {
            let stranger = open(node.address, &wrong).await.unwrap();
            let refused = describe(&stranger).await.unwrap_err();
            assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
            strangers.push(stranger);
        }
        let second = open(node.address, &right).await.unwrap();
        describe(&second).await.expect("pending connections take no permit");
        let mut here = 0;
        for stranger in &strangers {
            match describe(stranger).await.unwrap_err() {
                refused if refused.code() == Code::Unauthenticated => here += 1,
                gone => assert_eq!(gone.code(), Code::Unavailable, "it made room: {gone}"),
            }
        }
        assert!((1..=STRANGERS).contains(&here), "{here} connections are pending");
        describe(&client).await.expect("a client keeps its permit");
    }
}

#[tokio::test]
async fn a_stranger_makes_so_many_calls_and_no_more() {
    for transport in BOTH {
        let (node, right, wrong) = closed_lab(transport).await;
        let stranger = open(node.address, &wrong).await.unwrap();
        for _ in 0..STRANGER_CALLS {
            let refused = describe(&stranger).await.unwrap_err();
            assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
        }
        let mut more = 0;
        while describe(&stranger).await.unwrap_err().code() == Code::Unauthenticated {
            more += 1;
            assert!(more < 3, "{more} more calls were answered over {transport}");
        }
        let client = open(node.address, &right).await.unwrap();
        describe(&client).await.unwrap();
        for _ in 0..2 * STRANGER_CALLS {
            client.digests(DigestsRequest::default()).await.unwrap_err();
        }
        describe(&client).await.expect("calls of a client may fail");
    }
}

/// Opens a QUIC connection without netdiv's client, which makes no call.
async fn connect(node: SocketAddr) -> (quinn::Endpoint, quinn::Connection) {
    let tls = QuicClientConfig::try_from(ClientTls::trusting().unwrap().config(b"netdiv/1"));
    let mut endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(tls.unwrap())));
    let connection = endpoint.connect(node, "localhost").unwrap().await.unwrap();
    (endpoint, connection)
}

#[tokio::test]
async fn a_stranger_is_told_that_it_made_room() {
    let connections = Connections::with_strangers(9, 1, NEVER, |_| ());
    let node = TestNode { connections, ..TestNode::default() }.serve(Transport::Quic).await;
    let (_endpoint, first) = connect(node.address).await;
    let (_endpoint, _second) = connect(node.address).await;
    let closed = first.closed().await.to_string();
    assert!(closed.contains("made room for a new connection"), "{closed}");
}
