//! Tests of connections that are opened, refused, lost, closed or reset.

use std::{net::SocketAddr, sync::atomic::Ordering, time::Duration};

use netdiv_contract::v1::*;
use tokio::{
    io::AsyncReadExt as _,
    net::{TcpListener, UdpSocket},
    sync::watch,
    time::timeout,
};
use tonic::Code;

use super::{
    BOTH, cut, describe,
    fake_node::{self, Then},
    ids, infer,
    node::TestNode,
    open, options, requests, responses,
};
use crate::{OpenError, Options, Transport};

#[tokio::test]
async fn an_open_connection_carries_all_calls() {
    for transport in BOTH {
        let node = TestNode::default().serve(transport).await;
        let connection = open(node.address, &options(transport)).await.unwrap();
        let asked = DescribeRequest { nonce: 7, ..DescribeRequest::default() };
        let said = connection.describe(asked).await.unwrap();
        assert_eq!((said.nonce, said.host_name.as_str()), (7, "127.0.0.1"), "the peer's address");
        let flush = FlushRequest { session: "s".into(), samples_sent: 3 };
        assert_eq!(connection.flush(flush).await.unwrap().samples_received, 3);
        let digests = connection.digests(DigestsRequest::default()).await.unwrap_err();
        assert_eq!(digests.code(), Code::FailedPrecondition);

        let (sender, mut replies) = infer(&connection).await.unwrap();
        sender.send(requests(&[1, 2], 5).into()).await.unwrap();
        drop(sender);
        let (got, end) = ids(&mut replies).await;
        assert_eq!((got, end.is_ok()), (vec![1, 2], true));
        connection.close().await;
        drop((connection, replies));
        node.end().await;
    }
}

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

#[tokio::test]
async fn without_a_listener_the_connection_is_refused() {
    for transport in BOTH {
        let free: std::net::SocketAddr = "127.0.0.1:1".parse().unwrap();
        let options = Options { connect_timeout: Duration::from_millis(100), ..options(transport) };
        let error = open(free, &options).await.unwrap_err();
        assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains(&free.to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_node_that_closes_or_resets_the_connection_is_lost() {
    for (transport, then, why) in [
        (Transport::Grpc, Then::Closes, "it closed the connection"),
        (Transport::Grpc, Then::ResetsConnection, "Connection reset"),
        (Transport::Quic, Then::Closes, "this node goes"),
    ] {
        let address = fake_node::answer(transport, cut(&responses(&[1], 5), 3), then).await;
        let connection = open(address, &options(transport)).await.unwrap();
        let (_requests, mut replies) = infer(&connection).await.unwrap();
        let (got, end) = ids(&mut replies).await;
        let status = end.unwrap_err();
        assert_eq!((got, status.code()), (vec![1], Code::Unavailable), "{status}");
        assert!(status.message().contains(why), "{status}");
        let again = connection.describe(DescribeRequest::default()).await;
        assert!(again.is_err(), "it never reconnects");
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

fn impatient(transport: Transport) -> Options {
    Options {
        keepalive_interval: Duration::from_millis(50),
        keepalive_timeout: Duration::from_millis(500),
        ..options(transport)
    }
}

#[tokio::test]
async fn a_node_that_does_not_answer_pings_is_lost() {
    // The system accepts the connection, and no program reads from it.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connection = open(address, &impatient(Transport::Grpc)).await.unwrap();
    let (_requests, receiver) = tokio::sync::mpsc::channel(1);
    let session = netdiv_contract::SessionHeader::default();
    let lost = connection.infer(&session, super::ChannelStream(receiver)).await.err().unwrap();
    assert_eq!(lost.code(), Code::Unavailable, "{lost}");
}

#[tokio::test]
async fn a_quic_node_that_falls_silent_is_lost() {
    let node = TestNode::default().serve(Transport::Quic).await;
    // Datagrams go through this relay until it is cut.
    let relay = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (address, target) = (relay.local_addr().unwrap(), node.address);
    let (alive, mut cut) = watch::channel(true);
    tokio::spawn(async move {
        let (mut client, mut datagram) = (None, vec![0; 1 << 16]);
        while *cut.borrow_and_update() {
            let (length, from) = relay.recv_from(&mut datagram).await.unwrap();
            if from != target {
                client = Some(from);
            }
            if let Some(to) = if from == target { client } else { Some(target) } {
                relay.send_to(&datagram[..length], to).await.unwrap();
            }
        }
        std::future::pending::<()>().await;
    });
    let connection = open(address, &impatient(Transport::Quic)).await.unwrap();
    connection.describe(DescribeRequest::default()).await.unwrap();
    let (_requests, mut replies) = infer(&connection).await.unwrap();
    alive.send_replace(false);
    let lost = ids(&mut replies).await.1.unwrap_err();
    assert_eq!(lost.code(), Code::Unavailable, "{lost}");
    assert!(lost.message().contains("it sent nothing for too long"), "{lost}");
}
