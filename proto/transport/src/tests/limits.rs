//! Limits of the transports. Those of time are tested in `connections.rs` and `grpc/newcomer.rs`; a node's own are the SUT node's.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use netdiv_contract::{
    burst::Messages,
    framing::encode,
    limits::{
        MAX_ANSWER_BYTES, MAX_CALLS, MAX_HEADER_BYTES, MAX_STREAMS_PER_CONNECTION, WINDOW_BYTES,
    },
    v1::*,
};
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    time::{sleep, timeout},
};
use tonic::{Code, Status};

use super::{
    BOTH, cut, fake_client, infer,
    node::{Node, Serving},
    open, options, requests,
};
use crate::{
    Connection, Connections, Options, Replies, Transport,
    connections::STRANGER_CALLS,
    security::{ServerToken, Token},
};

const A_MOMENT: Duration = Duration::from_millis(50);
const NEVER: Duration = Duration::from_secs(3600);

async fn describe(connection: &Connection) -> Result<DescribeResponse, Status> {
    connection.describe(DescribeRequest::default()).await
}

#[tokio::test]
async fn answers_of_calls_with_one_are_limited() {
    for transport in BOTH {
        let longest = MAX_ANSWER_BYTES - 20;
        for (name_bytes, fits) in [(longest, true), (MAX_ANSWER_BYTES, false)] {
            let node = Node { name_bytes, ..Node::default() }.serve(transport).await;
            let connection = open(node.address, &options(transport)).await.unwrap();
            match describe(&connection).await {
                Ok(said) => assert!(fits && said.node_name.len() == name_bytes),
                Err(status) => assert!(!fits && status.code() == Code::OutOfRange, "{status}"),
            }
        }
    }
}

#[tokio::test]
async fn the_longest_request_is_taken_and_no_longer_one() {
    for transport in BOTH {
        // The id takes 9 bytes, the key and length of the payload 3.
        let node = Node { longest: 1000 + 12, ..Node::default() }.serve(transport).await;
        for (bytes, code) in [(1000, Code::Ok), (1001, Code::OutOfRange)] {
            let pieces = cut(&requests(&[1], bytes), 400);
            let outcome = fake_client::infer(transport, node.address, pieces).await;
            assert_eq!(outcome.code, code, "{outcome:?}");
        }
    }
}

#[tokio::test]
async fn requests_of_calls_with_one_are_limited() {
    for transport in BOTH {
        let node = Node::default().serve(transport).await;
        let connection = open(node.address, &options(transport)).await.unwrap();
        // The session's key and length take 3 bytes.
        let longest = MAX_HEADER_BYTES - 3;
        for (bytes, code) in [(longest, Code::FailedPrecondition), (longest + 1, Code::OutOfRange)]
        {
            let session = "s".repeat(bytes);
            let asked = DigestsRequest { session, ..DigestsRequest::default() };
            let status = connection.digests(asked).await.unwrap_err();
            assert_eq!(status.code(), code, "{status}");
        }
    }
}

/// Opens a stream and has one request answered; the error may come with the opening or as the first message.
async fn open_stream(connection: &Connection) -> Result<Stream, Status> {
    let (sender, mut replies) = infer(connection).await?;
    // A stream that is refused takes no request.
    let _ = sender.send(requests(&[1], 5).into()).await;
    replies.next_message::<InferResponse>().await?.expect("a reply");
    Ok((sender, replies))
}

type Stream = (tokio::sync::mpsc::Sender<bytes::Bytes>, Messages<Replies>);

#[tokio::test]
async fn a_connection_has_so_many_streams_and_room_for_other_calls_beside_them() {
    for transport in BOTH {
        let node = Node::default().serve(transport).await;
        let connection = open(node.address, &options(transport)).await.unwrap();
        let mut streams = Vec::new();
        for _ in 0..MAX_STREAMS_PER_CONNECTION {
            streams.push(open_stream(&connection).await.unwrap());
        }
        let refused = open_stream(&connection).await.expect_err("one stream too many");
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
        assert!(refused.message().contains("has 64 streams of samples"), "{refused}");
        for _ in 0..2 * MAX_CALLS {
            let answer = timeout(Duration::from_secs(5), describe(&connection)).await;
            answer.expect("streams do not hold up a call").unwrap();
        }
        let (requests, mut replies) = streams.pop().unwrap();
        drop(requests);
        assert!(super::ids(&mut replies).await.1.is_ok());
        while open_stream(&connection).await.is_err() {
            sleep(Duration::from_millis(1)).await;
        }
    }
}

#[tokio::test]
async fn headers_are_limited() {
    for transport in BOTH {
        let node = Node::default().serve(transport).await;
        let connection = open(node.address, &options(transport)).await.unwrap();
        let name = "s".repeat(2 * MAX_HEADER_BYTES);
        let session = netdiv_contract::SessionHeader { name, ..Default::default() };
        let (_sender, receiver) = tokio::sync::mpsc::channel(1);
        let refused = match connection.infer(&session, super::Received(receiver)).await {
            Err(status) => status,
            Ok(mut replies) => super::ids(&mut replies).await.1.unwrap_err(),
        };
        assert_ne!(refused.code(), Code::Ok, "{refused}");
        describe(&connection).await.expect("other calls go on");
    }
}

#[tokio::test]
async fn a_call_of_quic_begins_with_a_header_that_fits() {
    let node = Node::default().serve(Transport::Quic).await;
    let old = CallHeader { protocol_version: 0, ..fake_client::header("Infer") };
    let sent = |header: &CallHeader| cut(&encode(header), 3);
    for (pieces, code, why) in [
        (sent(&old), Code::FailedPrecondition, "version 0 of the wire contract"),
        (sent(&fake_client::header("Train")), Code::Unimplemented, "no method `Train`"),
        (sent(&fake_client::header("Flush")), Code::InvalidArgument, "the request is missing"),
        (Vec::new(), Code::InvalidArgument, "begins with a CallHeader"),
        (cut(&super::prefix(0, MAX_HEADER_BYTES + 1), 3), Code::OutOfRange, "message too large"),
    ] {
        let outcome = fake_client::over_quic_stream(node.address, pieces).await;
        assert_eq!(outcome.code, code, "{outcome:?}");
        assert!(outcome.message.contains(why), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_node_takes_so_many_connections_and_others_once_they_end() {
    for transport in BOTH {
        let node = Node { connections: Connections::new(1, |_| ()), ..Node::default() };
        let node: Serving = node.serve(transport).await;
        let first = open(node.address, &options(transport)).await.unwrap();
        describe(&first).await.unwrap();
        let second = open(node.address, &options(transport)).await.unwrap();
        for _ in 0..2 {
            let refused = describe(&second).await.unwrap_err();
            assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
            let words = "the node has 1 connections and takes no more (--max-connections)";
            assert_eq!(refused.message(), words, "{transport}");
        }
        describe(&first).await.expect("who is here stays");
        first.close().await;
        drop(first);
        // The place is free when the node has seen the end.
        let second = loop {
            let second = open(node.address, &options(transport)).await.unwrap();
            match describe(&second).await {
                Ok(_) => break second,
                Err(_) => sleep(Duration::from_millis(1)).await,
            }
        };
        describe(&second).await.expect("it has the place");
    }
}

/// Strangers at the same time, in the tests below.
const STRANGERS: usize = 8;

/// A node that knows few strangers, and a token; what a client with the right one and one with a wrong one have.
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
    let node = Node { connections, token, ..Node::default() }.serve(transport).await;
    let client =
        |path: &Path| Options { token: Some(Token::read(path).unwrap()), ..options(transport) };
    (node, client(&right), client(&wrong))
}

#[tokio::test]
async fn strangers_keep_nobody_out() {
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
        describe(&second).await.expect("strangers take no place");
        let mut here = 0;
        for stranger in &strangers {
            match describe(stranger).await.unwrap_err() {
                refused if refused.code() == Code::Unauthenticated => here += 1,
                gone => assert_eq!(gone.code(), Code::Unavailable, "it made room: {gone}"),
            }
        }
        assert!((1..=STRANGERS).contains(&here), "{here} strangers are here");
        describe(&client).await.expect("who is here stays");
    }
}

#[tokio::test]
async fn strangers_who_come_again_at_once_keep_nobody_out() {
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
async fn strangers_who_finish_no_handshake_keep_nobody_out() {
    for words in [&b""[..], b"PRI * HTTP"] {
        let connections = Connections::with_strangers(9, STRANGERS, NEVER, |_| ());
        let node = Node { connections, ..Node::default() }.serve(Transport::Grpc).await;
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
        assert!(here < STRANGERS, "they made room: {here} are here");
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
    let node = Node { connections, ..Node::default() }.serve(Transport::Quic).await;
    let (_endpoint, first) = fake_client::connect(node.address).await;
    let (_endpoint, _second) = fake_client::connect(node.address).await;
    let closed = first.closed().await.to_string();
    assert!(closed.contains("made room for a newcomer"), "{closed}");
}

#[tokio::test]
async fn replies_that_nobody_reads_fill_the_window_and_no_more() {
    for transport in BOTH {
        let node = Node { endless: true, window_bytes: 1 << 20, ..Node::default() };
        let taken = node.taken.clone();
        let node = node.serve(transport).await;
        let window_bytes = *WINDOW_BYTES.start();
        let options = Options { window_bytes, ..options(transport) };
        let connection = open(node.address, &options).await.unwrap();
        let (_requests, mut replies) = infer(&connection).await.unwrap();
        let mut before = 0;
        loop {
            sleep(A_MOMENT).await;
            match taken.load(Ordering::Relaxed) {
                now if now == before && now > 0 => break,
                now => before = now,
            }
        }
        // A window of 64 KiB, the sender's of 1 MiB (QUIC), and what libraries buffer.
        assert!(before * (64 << 10) < 4 << 20, "{before} chunks of 64 KiB for {transport}");
        for _ in 0..2 * before {
            replies.next_message::<InferResponse>().await.unwrap().unwrap();
        }
        assert!(taken.load(Ordering::Relaxed) > before, "what is read makes room");
    }
}

#[tokio::test]
async fn a_client_may_begin_with_many_streams() {
    for transport in BOTH {
        let node = Node::default().serve(transport).await;
        let connection = open(node.address, &options(transport)).await.unwrap();
        let mut streams = Vec::new();
        for _ in 0..20 {
            let (sender, replies) = infer(&connection).await.unwrap();
            sender.send(vec![0; 10].into()).await.unwrap();
            streams.push((sender, replies));
        }
    }
}
