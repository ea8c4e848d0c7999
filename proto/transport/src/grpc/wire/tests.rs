//! Tests of the node's end of a connection when it closes: the client can still read the last
//! message.

use std::net::Ipv4Addr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;
use crate::Connections;

/// Returns a client's socket, and the node's end of it with an admitted call.
async fn connected() -> (TcpStream, Wire) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, peer) = listener.accept().await.unwrap();
    let guest = Connections::new(1, |_| ()).arrive(peer.ip());
    let (_closing, watching) = watch::channel(false);
    let wire = Wire::server((stream, peer), None, guest.clone(), watching).await;
    guest.admit().unwrap();
    (client, wire.map_err(|(error, _)| error).unwrap())
}

#[tokio::test]
async fn a_client_that_still_sends_reads_the_last_word_and_is_not_reset() {
    let (mut client, mut wire) = connected().await;
    client.write_all(&[7; 100_000]).await.unwrap();
    let node = tokio::spawn(async move {
        wire.write_all(b"the reason").await.unwrap();
        wire.shutdown().await.unwrap();
    });
    let mut said = String::new();
    client.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "the reason");
    // The client has not noticed the end yet.
    for _ in 0..50 {
        client.write_all(&[7; 100_000]).await.unwrap();
    }
    drop(client);
    node.await.unwrap();
}

#[tokio::test]
async fn a_client_that_stays_does_not_keep_the_node() {
    let (mut client, mut wire) = connected().await;
    wire.write_all(b"the reason").await.unwrap();
    wire.shutdown().await.unwrap();
    drop(wire);
    let mut said = String::new();
    client.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "the reason");
}
