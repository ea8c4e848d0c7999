//! Client's end of a QUIC connection.

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use netdiv_contract::{
    PROTOCOL_VERSION, SessionHeader,
    burst::Messages,
    framing, limits,
    v1::{
        CallHeader, DescribeRequest, DescribeResponse, DigestsRequest, DigestsResponse,
        FlushRequest, FlushResponse, MeasureRequest, MeasureResponse,
    },
};
use prost::Message;
use quinn::{Connection, ConnectionError, Endpoint, WriteError, crypto::rustls::QuicClientConfig};
use tokio::sync::oneshot;
use tonic::Status;

use super::{
    chunks::{QuicReplies, ReceivedChunks, send_all},
    ending::{NETDIV_CLOSES, explain, is_distrust},
    endpoint::{self, ALPN, ConnectionSettings, default_mtu},
};
use crate::{
    address::Address,
    open_error::{OpenError, TLS_REMEDY},
    options::Options,
    security::{ClientTls, Token, server_name},
};

/// Statistics that QUIC keeps of the network path of a connection.
#[derive(Debug, Clone, Copy)]
pub struct QuicPath {
    /// Number of packets that the client has declared lost since the connection was opened.
    pub lost_packets: u64,
    /// Smoothed time of a round trip.
    pub round_trip: Duration,
    /// Maximum number of bytes that the client may have in flight.
    pub congestion_window_bytes: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct QuicClient {
    endpoint: Endpoint,
    connection: Connection,
    token: Option<Token>,
}

impl QuicClient {
    /// Opens a connection on its own socket, with a single attempt for each address.
    pub(crate) async fn open(address: &Address, options: &Options) -> Result<Self, OpenError> {
        let unreachable =
            |why: String| OpenError::Unreachable { address: address.to_string(), why };
        let local = |why: String| OpenError::Local(why);
        let tls = match &options.tls {
            Some(tls) => tls.clone(),
            None => ClientTls::trusting().map_err(|error| local(error.to_string()))?,
        };
        let crypto = QuicClientConfig::try_from(tls.config(ALPN))
            .map_err(|error| local(error.to_string()))?;
        let mut config = quinn::ClientConfig::new(Arc::new(crypto));
        let name = server_name(address.certified_host())
            .map_err(|error| unreachable(error.to_string()))?;
        let chosen = options.egress.congestion_control.as_deref();
        let congestion = chosen.and_then(endpoint::congestion_control);
        let mut last = unreachable("the name has no address".into());
        for peer in address.look_up(options.connect_timeout).await? {
            let path = ConnectionSettings {
                mtu: options.quic_mtu.unwrap_or_else(|| default_mtu(peer.ip())),
                window_bytes: options.window_bytes,
                connection_window_bytes: limits::connection_window_bytes(options.window_bytes),
                // A node opens no calls.
                calls: 0,
                keepalive_interval: options.keepalive_interval,
                keepalive_timeout: options.keepalive_timeout,
                congestion_control: congestion.clone(),
            };
            config.transport_config(path.transport());
            let any: SocketAddr = match peer {
                SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
                SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
            };
            let bound = endpoint::bind_egress(any, &options.egress)
                .and_then(|socket| {
                    endpoint::note_small_buffers(endpoint::receive_buffer_bytes(&socket)?);
                    endpoint::open(socket, None)
                })
                .map_err(|error| OpenError::of_socket(address, &error));
            let endpoint = match bound {
                Err(error @ OpenError::Unreachable { .. }) => {
                    last = error;
                    continue;
                }
                bound => bound?,
            };
            let connecting = endpoint
                .connect_with(config.clone(), peer, &name.to_str())
                .map_err(|error| unreachable(error.to_string()))?;
            match tokio::time::timeout(options.connect_timeout, connecting).await {
                Ok(Ok(connection)) => {
                    return Ok(Self { endpoint, connection, token: options.token.clone() });
                }
                Ok(Err(error)) if is_distrust(&error) => {
                    let why = format!("{}{TLS_REMEDY}", explain(&error));
                    return Err(OpenError::Untrusted { address: address.to_string(), why });
                }
                Ok(Err(ConnectionError::TimedOut)) | Err(_) => {
                    last = unreachable(options.egress.no_answer())
                }
                Ok(Err(error)) => last = unreachable(explain(&error)),
            }
        }
        Err(last)
    }

    /// Closes the connection, and waits until the close frame is sent.
    pub(crate) async fn close(&self) {
        self.connection.close(NETDIV_CLOSES, b"done");
        self.endpoint.wait_idle().await;
    }

    pub(crate) fn path(&self) -> QuicPath {
        let path = self.connection.stats().path;
        QuicPath {
            lost_packets: path.lost_packets,
            round_trip: path.rtt,
            congestion_window_bytes: path.cwnd,
        }
    }

    pub(crate) async fn describe(
        &self,
        request: DescribeRequest,
    ) -> Result<DescribeResponse, Status> {
        self.ask("Describe", &request).await
    }

    pub(crate) async fn flush(&self, request: FlushRequest) -> Result<FlushResponse, Status> {
        self.ask("Flush", &request).await
    }

    pub(crate) async fn digests(&self, request: DigestsRequest) -> Result<DigestsResponse, Status> {
        self.ask("Digests", &request).await
    }

    pub(crate) async fn measure(&self, request: MeasureRequest) -> Result<MeasureResponse, Status> {
        self.ask("Measure", &request).await
    }

    fn header(&self, method: &str, session: &SessionHeader) -> Bytes {
        framing::encode(&CallHeader {
            protocol_version: PROTOCOL_VERSION,
            method: method.into(),
            session: session.name.clone(),
            digests: session.digests,
            checksums: session.checksums,
            tokens: session.tokens as i32,
            max_output_tokens: session.max_output_tokens,
            token: self.token.as_ref().map(Token::text).unwrap_or_default(),
        })
    }

    /// Makes a call with one request and one reply.
    async fn ask<R: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
    ) -> Result<R, Status> {
        let (mut send, receive) = self.connection.open_bi().await.map_err(|e| lost(&e))?;
        let mut parts = [self.header(method, &SessionHeader::default()), framing::encode(request)];
        // A node that refuses the call may stop reading, so an error here is ignored: its answer
        // contains the reason.
        let _ = send.write_all_chunks(&mut parts).await;
        let _ = send.finish();
        let mut replies = Messages::new(ReceivedChunks::new(receive), limits::MAX_REPLY_BYTES);
        // The end of the connection explains the end of the stream.
        let reply = replies.next_message().await;
        let reply = reply.map_err(|status| match self.connection.close_reason() {
            Some(reason) => lost(&reason),
            None => status,
        })?;
        reply.ok_or_else(|| Status::unknown("the node ended the call without an answer"))
    }

    /// Opens a stream of requests, which a task sends, and returns the stream of replies.
    pub(crate) async fn infer(
        &self,
        session: &SessionHeader,
        requests: impl Stream<Item = Bytes> + Send + Unpin + 'static,
    ) -> Result<QuicReplies, Status> {
        let (mut send, receive) = self.connection.open_bi().await.map_err(|e| lost(&e))?;
        let header = self.header("Infer", session);
        send.write_chunk(header).await.map_err(|error| Status::unavailable(explain(&error)))?;
        let (stopping, stopped) = oneshot::channel();
        tokio::spawn(async move {
            let stop = send.stopped();
            // The reader of the responses detects a lost connection.
            tokio::select! {
                sent = send_all(&mut send, InfallibleChunks(requests)) => match sent {
                    Ok(_) => drop(send.finish()),
                    Err(WriteError::Stopped(code)) => drop(stopping.send(code)),
                    Err(_) => {}
                },
                Ok(Some(code)) = stop => drop(stopping.send(code)),
            }
        });
        Ok(QuicReplies::new(ReceivedChunks::new(receive), stopped))
    }
}

fn lost(error: &ConnectionError) -> Status {
    if is_distrust(error) {
        // A client finishes its handshake before the node has checked its certificate.
        Status::unauthenticated(explain(error))
    } else {
        Status::unavailable(explain(error))
    }
}

/// Adapter that makes a stream without errors a stream of results.
struct InfallibleChunks<S>(S);

impl<S: Stream<Item = Bytes> + Unpin> Stream for InfallibleChunks<S> {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.0).poll_next(context).map(|chunk| chunk.map(Ok))
    }
}
