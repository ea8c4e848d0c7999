//! Tests of pending connections, which have no admitted call: they keep no client out, and have
//! their own limits.

use std::{path::Path, sync::Arc, time::Duration};

use netdiv_contract::v1::*;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, time::sleep};
use tonic::Code;

use super::{
    BOTH, describe, fake_client,
    node::{Serving, TestNode},
    open, options,
};
use crate::{
    Connections, Options, Transport,
    connections::STRANGER_CALLS,
    security::{ServerToken, Token},
};

const A_MOMENT: Duration = Duration::from_millis(50);
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
async fn strangers_who_reconnect_at_once_block_no_client() {
    for transport in BOTH {
        let (node, right, wrong) = closed_lab(transport).await;
        let address = node.address;
        let flood: Vec<_> = (0..STRANGERS - 2)
            .map(|_| {
                let wrong = wrong.clone();
                tokio::spawn(async move {
                    loop {
                        if let Ok(stranger) = open(address, &wrong).await {
                            assert!(describe(&stranger).await.is_err());
                            stranger.close().await;
                        }
                        // The system must not run out of ports.
                        sleep(Duration::from_millis(1)).await;
                    }
                })
            })
            .collect();
        for _ in 0..5 {
            let client = open(address, &right).await.unwrap();
            describe(&client).await.unwrap_or_else(|error| panic!("{transport}: {error}"));
            client.close().await;
        }
        flood.iter().for_each(|stranger| stranger.abort());
    }
}

#[tokio::test]
async fn unfinished_handshakes_block_no_client() {
    for words in [&b""[..], b"PRI * HTTP"] {
        let connections = Connections::with_strangers(9, STRANGERS, NEVER, |_| ());
        let node = TestNode { connections, ..TestNode::default() }.serve(Transport::Grpc).await;
        let mut strangers = Vec::new();
        for _ in 0..3 * STRANGERS {
            let mut stranger = TcpStream::connect(node.address).await.unwrap();
            stranger.write_all(words).await.unwrap();
            strangers.push(stranger);
        }
        let client = open(node.address, &options(Transport::Grpc)).await.unwrap();
        describe(&client).await.unwrap();
        sleep(A_MOMENT).await;
        let is_here = |stranger: &TcpStream| {
            let read = stranger.try_read(&mut [0; 100]);
            read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
        };
        let here = strangers.iter().filter(|stranger| is_here(stranger)).count();
        assert!(here < STRANGERS, "they made room: {here} are pending");
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

#[tokio::test]
async fn a_stranger_is_told_that_it_made_room() {
    let connections = Connections::with_strangers(9, 1, NEVER, |_| ());
    let node = TestNode { connections, ..TestNode::default() }.serve(Transport::Quic).await;
    let (_endpoint, first) = fake_client::connect(node.address).await;
    let (_endpoint, _second) = fake_client::connect(node.address).await;
    let closed = first.closed().await.to_string();
    assert!(closed.contains("made room for a new connection"), "{closed}");
}
