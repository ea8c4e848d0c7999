//! Tests of the limits of the transports. Time limits are tested in `connections/tests.rs` and
//! `grpc/pending_peer.rs`, limits of pending connections in `pending.rs`, and a node's own limits
//! in the crate of the SUT node.

use std::{sync::atomic::Ordering, time::Duration};

use netdiv_contract::{
    burst::Messages,
    limits::{
        MAX_CALLS, MAX_HEADER_BYTES, MAX_REPLY_BYTES, MAX_STREAMS_PER_CONNECTION, WINDOW_BYTES,
    },
    v1::*,
};
use tokio::time::{sleep, timeout};
use tonic::{Code, Status};

use super::{
    BOTH, describe, infer,
    node::{Serving, TestNode},
    open, options, requests,
};
use crate::{Connection, Connections, Options, Replies};

const A_MOMENT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn answers_of_calls_with_one_are_limited() {
    for transport in BOTH {
        let longest = MAX_REPLY_BYTES - 20;
        for (name_bytes, fits) in [(longest, true), (MAX_REPLY_BYTES, false)] {
            let node = TestNode { name_bytes, ..TestNode::default() }.serve(transport).await;
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
        // The id fills 9 bytes of the message; the key and length of the payload fill 3 bytes.
        let node = TestNode { longest: 1000 + 12, ..TestNode::default() }.serve(transport).await;
        let connection = open(node.address, &options(transport)).await.unwrap();
        for (bytes, refusal) in [(1000, None), (1001, Some(Code::OutOfRange))] {
            let (sender, mut replies) = infer(&connection).await.unwrap();
            sender.send(requests(&[1], bytes).into()).await.unwrap();
            drop(sender);
            let end = super::ids(&mut replies).await.1;
            assert_eq!(end.err().map(|status| status.code()), refusal);
        }
    }
}

#[tokio::test]
async fn requests_of_calls_with_one_are_limited() {
    for transport in BOTH {
        let node = TestNode::default().serve(transport).await;
        let connection = open(node.address, &options(transport)).await.unwrap();
        // The session's key and length fill 3 bytes of the message.
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

/// Opens a stream and awaits one reply. The error may occur at the opening or at the reply.
async fn open_stream(connection: &Connection) -> Result<Stream, Status> {
    let (sender, mut replies) = infer(connection).await?;
    // A refused stream accepts no request.
    let _ = sender.send(requests(&[1], 5).into()).await;
    replies.next_message::<InferResponse>().await?.expect("a reply");
    Ok((sender, replies))
}

type Stream = (tokio::sync::mpsc::Sender<bytes::Bytes>, Messages<Replies>);

#[tokio::test]
async fn a_connection_has_so_many_streams_and_room_for_other_calls_beside_them() {
    for transport in BOTH {
        let node = TestNode::default().serve(transport).await;
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
        let node = TestNode::default().serve(transport).await;
        let connection = open(node.address, &options(transport)).await.unwrap();
        let name = "s".repeat(2 * MAX_HEADER_BYTES);
        let session = netdiv_contract::SessionHeader { name, ..Default::default() };
        let (_sender, receiver) = tokio::sync::mpsc::channel(1);
        let refused = match connection.infer(&session, super::ChannelStream(receiver)).await {
            Err(status) => status,
            Ok(mut replies) => super::ids(&mut replies).await.1.unwrap_err(),
        };
        assert_ne!(refused.code(), Code::Ok, "{refused}");
        describe(&connection).await.expect("other calls go on");
    }
}

#[tokio::test]
async fn a_node_takes_so_many_connections_and_others_once_they_end() {
    for transport in BOTH {
        let node = TestNode { connections: Connections::new(1, |_| ()), ..TestNode::default() };
        let node: Serving = node.serve(transport).await;
        let first = open(node.address, &options(transport)).await.unwrap();
        describe(&first).await.unwrap();
        let second = open(node.address, &options(transport)).await.unwrap();
        for _ in 0..2 {
            let refused = describe(&second).await.unwrap_err();
            assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
            let words = "the node has 1 connection and accepts no more (--max-connections)";
            assert_eq!(refused.message(), words, "{transport}");
        }
        describe(&first).await.expect("a client keeps its permit");
        first.close().await;
        drop(first);
        // The permit becomes free when the node has detected the end of the first connection.
        let second = loop {
            let second = open(node.address, &options(transport)).await.unwrap();
            match describe(&second).await {
                Ok(_) => break second,
                Err(_) => sleep(Duration::from_millis(1)).await,
            }
        };
        describe(&second).await.expect("it has the permit");
    }
}

#[tokio::test]
async fn unread_replies_fill_the_window_and_no_more() {
    for transport in BOTH {
        let node = TestNode { endless: true, window_bytes: 1 << 20, ..TestNode::default() };
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
        // The chunks fill the client's window of 64 KiB, the node's window for sending of 1 MiB
        // (QUIC), and the buffers of the libraries.
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
        let node = TestNode::default().serve(transport).await;
        let connection = open(node.address, &options(transport)).await.unwrap();
        let mut streams = Vec::new();
        for _ in 0..20 {
            let (sender, replies) = infer(&connection).await.unwrap();
            sender.send(vec![0; 10].into()).await.unwrap();
            streams.push((sender, replies));
        }
    }
}
