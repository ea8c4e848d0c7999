//! Tests of calls and connections that end, in order or not.

use std::{net::SocketAddr, sync::atomic::Ordering, time::Duration};

use netdiv_contract::v1::*;
use tokio::{io::AsyncReadExt as _, net::TcpListener, time::timeout};
use tonic::Code;

use super::{
    BOTH, cut, describe,
    fake_node::{self, Then},
    ids, infer,
    node::TestNode,
    open, options, requests, responses,
};
use crate::{OpenError, Transport};

#[tokio::test]
async fn a_call_ends_with_its_caller() {
    for transport in BOTH {
        let node = TestNode::default();
        let flushing = node.flushing.clone();
        let until = async |flushes: usize| {
            while flushing.load(Ordering::SeqCst) != flushes {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let serving = node.serve(transport).await;
        let connection = open(serving.address, &options(transport)).await.unwrap();
        let asked = FlushRequest { session: "never".into(), samples_sent: 3 };
        let asking = connection.clone();
        let asking = tokio::spawn(async move { asking.flush(asked).await });
        let patience = Duration::from_secs(10);
        timeout(patience, until(1)).await.expect("it is asked");
        // The connection stays open.
        asking.abort();
        timeout(patience, until(0)).await.expect("the call has ended");
        describe(&connection).await.unwrap();
    }
}

#[tokio::test]
async fn a_session_that_the_node_refuses_has_its_status() {
    for transport in BOTH {
        let node = TestNode::default().serve(transport).await;
        let connection = open(node.address, &options(transport)).await.unwrap();
        let session =
            netdiv_contract::SessionHeader { name: "refused".into(), ..Default::default() };
        let (_sender, receiver) = tokio::sync::mpsc::channel(1);
        let status = match connection.infer(&session, super::ChannelStream(receiver)).await {
            Err(status) => status,
            Ok(mut replies) => ids(&mut replies).await.1.unwrap_err(),
        };
        assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
        assert_eq!(status.message(), "no room for this session");
    }
}

/// Starts a listener that closes or resets each connection after it has read `bytes` bytes.
async fn closes_after(bytes: usize, resets: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            if resets {
                stream.set_zero_linger().unwrap();
            }
            let _ = stream.read_exact(&mut vec![0; bytes]).await;
        }
    });
    address
}

#[tokio::test]
async fn a_connection_that_made_room_is_no_answer_whenever_it_happens() {
    for (bytes, resets) in [0, 1, 24, 60, 100, 150].map(|n| [(n, false), (n, true)]).concat() {
        let address = closes_after(bytes, resets).await;
        for _ in 0..20 {
            match open(address, &options(Transport::Grpc)).await {
                Ok(connection) => {
                    let status = describe(&connection).await.unwrap_err();
                    assert_eq!(status.code(), Code::Unavailable, "{bytes}, {resets}: {status:?}");
                }
                Err(error) => assert!(matches!(error, OpenError::Unreachable { .. }), "{error}"),
            }
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_reset_leaves_its_connection_open() {
    for transport in BOTH {
        let address =
            fake_node::answer(transport, cut(&responses(&[1], 5), 3), Then::ResetsStream).await;
        let connection = open(address, &options(transport)).await.unwrap();
        let (_requests, mut replies) = infer(&connection).await.unwrap();
        let (_, end) = ids(&mut replies).await;
        let status = end.unwrap_err();
        assert!(!status.message().contains("closed the connection"), "{status}");
        assert!(infer_begins(&connection).await, "{transport}");
    }
}

#[tokio::test]
async fn a_node_that_stops_reading_is_noticed_unless_it_says_that_more_follows() {
    for (code, status, words) in [
        (0, Code::Unavailable, "stopped reading a stream of samples"),
        (1, Code::Aborted, "later"),
        (7, Code::Unavailable, "stopped reading a stream of samples"),
    ] {
        let pieces = cut(&responses(&[1], 5), 3);
        let address = fake_node::answer(Transport::Quic, pieces, Then::StopsReading(code)).await;
        let connection = open(address, &options(Transport::Quic)).await.unwrap();
        // The client sends nothing, so only the code with which the node stops reading shows the
        // end.
        let (_requests, mut replies) = infer(&connection).await.unwrap();
        let (got, end) = ids(&mut replies).await;
        let end = end.unwrap_err();
        assert_eq!((got, end.code()), (vec![1], status), "{code}: {end}");
        assert!(end.message().contains(words), "{code}: {end}");
    }
}

#[tokio::test]
async fn a_node_that_ends_its_half_is_noticed_while_requests_are_open() {
    for transport in BOTH {
        for then in [Then::Ends, Then::Status(Code::Ok), Then::ResetsStream] {
            let address = fake_node::answer(transport, Vec::new(), then).await;
            let connection = open(address, &options(transport)).await.unwrap();
            let noticed = async {
                let (requests, mut replies) = match infer(&connection).await {
                    Ok(stream) => stream,
                    Err(status) => return (Vec::new(), Err(status)),
                };
                let end = ids(&mut replies).await;
                drop(requests);
                end
            };
            let noticed = tokio::time::timeout(Duration::from_secs(2), noticed).await;
            let (got, end) = noticed.expect("it is noticed at once");
            assert_eq!((got, end.is_err()), (vec![], then == Then::ResetsStream), "{then:?}");
        }
    }
}

/// Returns true if the connection is alive: it accepts another stream, though the fake node does
/// not answer it.
async fn infer_begins(connection: &crate::Connection) -> bool {
    let beginning = infer(connection);
    match tokio::time::timeout(Duration::from_millis(50), beginning).await {
        Ok(Err(status)) => status.code() != Code::Unavailable,
        _ => true,
    }
}

#[tokio::test]
async fn a_node_that_ends_lets_its_calls_finish() {
    for transport in BOTH {
        let node = TestNode::default().serve(transport).await;
        let connection = open(node.address, &options(transport)).await.unwrap();
        let (sender, mut replies) = infer(&connection).await.unwrap();
        sender.send(requests(&[1], 5).into()).await.unwrap();
        let first = replies.next_message::<InferResponse>().await.unwrap().unwrap();
        let ending = tokio::spawn(node.end());
        sender.send(requests(&[2], 5).into()).await.unwrap();
        drop(sender);
        assert_eq!((first.id, ids(&mut replies).await.0), (1, vec![2]));
        drop((connection, replies));
        ending.await.unwrap();
    }
}
