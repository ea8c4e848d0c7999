//! Limits of the transports. Those of time are tested in `grpc/newcomer.rs`; a node's own are the SUT node's.

use std::{sync::atomic::Ordering, time::Duration};

use netdiv_contract::{
    framing::encode,
    limits::{MAX_ANSWER_BYTES, MAX_HEADER_BYTES, WINDOW_BYTES},
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
use crate::{Connection, Connections, Options, Transport, quic::MAX_CALLS};

const A_MOMENT: Duration = Duration::from_millis(50);

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

#[tokio::test]
async fn a_connection_of_quic_takes_so_many_calls_and_others_once_some_end() {
    let node = Node::default().serve(Transport::Quic).await;
    let connection = open(node.address, &options(Transport::Quic)).await.unwrap();
    let mut calls = Vec::new();
    for _ in 0..MAX_CALLS {
        calls.push(infer(&connection).await.unwrap());
    }
    let waits = describe(&connection);
    tokio::pin!(waits);
    assert!(timeout(A_MOMENT, &mut waits).await.is_err(), "one call too many");
    // Quinn tells of free places once an eighth of them is free.
    for (requests, mut replies) in calls.split_off(calls.len() / 2) {
        drop(requests);
        assert!(super::ids(&mut replies).await.1.is_ok());
    }
    waits.await.expect("others have ended");
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
        let connections = Connections::new(1, |_| ());
        let node = Node { connections: connections.clone(), ..Node::default() };
        let node: Serving = node.serve(transport).await;
        let first = open(node.address, &options(transport)).await.unwrap();
        describe(&first).await.unwrap();
        let refused = match open(node.address, &options(transport)).await {
            Ok(second) => describe(&second).await.unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        if transport == Transport::Quic {
            assert!(refused.contains("takes no more (--max-connections)"), "{refused}");
        }
        describe(&first).await.expect("who is here stays");
        first.close().await;
        drop(first);
        // The place is free when the node has seen the end.
        while connections.take().is_err() {
            sleep(Duration::from_millis(1)).await;
        }
        let third = open(node.address, &options(transport)).await.unwrap();
        describe(&third).await.unwrap();
    }
}

#[tokio::test]
async fn strangers_who_finish_no_handshake_hold_up_others_only_up_to_the_limit() {
    let connections = Connections::with_handshakes(9, 2, |_| ());
    let node = Node { connections, ..Node::default() }.serve(Transport::Grpc).await;
    let stranger = TcpStream::connect(node.address).await.unwrap();
    let client = open(node.address, &options(Transport::Grpc)).await.unwrap();
    describe(&client).await.expect("one turn is free");
    let mut second = TcpStream::connect(node.address).await.unwrap();
    second.write_all(b"PRI").await.unwrap();
    sleep(A_MOMENT).await;
    let third = open(node.address, &options(Transport::Grpc)).await.unwrap();
    assert!(timeout(A_MOMENT, describe(&third)).await.is_err(), "both turns are taken");
    drop(stranger);
    describe(&third).await.expect("a turn is free again");
    describe(&client).await.expect("who is here stays");
}

#[tokio::test]
async fn quic_refuses_handshakes_beyond_the_limit() {
    let connections = Connections::with_handshakes(9, 0, |_| ());
    let node = Node { connections, ..Node::default() }.serve(Transport::Quic).await;
    let refused = open(node.address, &options(Transport::Quic)).await.unwrap_err().to_string();
    assert!(refused.contains("refused"), "{refused}");
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
