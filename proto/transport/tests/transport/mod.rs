//! Tests of both ends of both transports over real sockets. Client and node are tested against each
//! other, and the client against a fake node, which cuts messages into pieces of any length and may
//! end anywhere. The tests of the programs have clients of other software.

mod closes;
mod fake_node;
mod framing;
mod inline_poll;
mod lifecycle;
mod limits;
mod node;
mod pending;
mod security;

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_contract::{SessionHeader, burst::Messages, framing::encode, v1::*};
use tokio::sync::mpsc;
use tonic::Status;

use crate::{Connection, OpenError, Options, Replies, Transport};

const BOTH: [Transport; 2] = [Transport::Grpc, Transport::Quic];

/// Stream that yields the messages received from a channel.
struct ChannelStream<T>(mpsc::Receiver<T>);

impl<T> Stream for ChannelStream<T> {
    type Item = T;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<T>> {
        self.0.poll_recv(context)
    }
}

/// Returns encoded requests with these ids, and payloads of `bytes` bytes.
fn requests(ids: &[u64], bytes: usize) -> Vec<u8> {
    let payload = Bytes::from(vec![7; bytes]);
    let request =
        |id: &u64| InferRequest { id: *id, payload: payload.clone(), ..Default::default() };
    ids.iter().flat_map(|id| encode(&request(id))).collect()
}

/// Returns encoded responses with these ids, and payloads of `bytes` bytes.
fn responses(ids: &[u64], bytes: usize) -> Vec<u8> {
    let payload = Bytes::from(vec![7; bytes]);
    let response =
        |id: &u64| InferResponse { id: *id, payload: payload.clone(), ..Default::default() };
    ids.iter().flat_map(|id| encode(&response(id))).collect()
}

/// Returns the prefix of a message: the flag, and this length.
fn prefix(flag: u8, length: usize) -> Vec<u8> {
    [&[flag][..], &u32::try_from(length).unwrap().to_be_bytes()].concat()
}

fn cut(bytes: &[u8], pieces_of: usize) -> Vec<Bytes> {
    bytes.chunks(pieces_of).map(Bytes::copy_from_slice).collect()
}

fn options(transport: Transport) -> Options {
    Options { transport, connect_timeout: Duration::from_secs(5), ..Options::default() }
}

async fn open(address: SocketAddr, options: &Options) -> Result<Connection, OpenError> {
    Connection::open(&address.to_string(), options).await
}

/// Opens a stream of samples. Returns the sender of its requests, and its replies.
async fn infer(
    connection: &Connection,
) -> Result<(mpsc::Sender<Bytes>, Messages<Replies>), Status> {
    let (sender, receiver) = mpsc::channel(1);
    let session = SessionHeader { name: "s".into(), ..SessionHeader::default() };
    Ok((sender, connection.infer(&session, ChannelStream(receiver)).await?))
}

/// Reads replies up to the end of the stream. Returns their ids, and the outcome of the call.
async fn ids(replies: &mut Messages<Replies>) -> (Vec<u64>, Result<(), Status>) {
    let mut ids = Vec::new();
    loop {
        match replies.next_message::<InferResponse>().await {
            Ok(Some(response)) => ids.push(response.id),
            Ok(None) => return (ids, Ok(())),
            Err(status) => return (ids, Err(status)),
        }
    }
}

async fn describe(connection: &Connection) -> Result<DescribeResponse, Status> {
    connection.describe(DescribeRequest::default()).await
}
