//! The node's end of QUIC.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    sync::Arc,
    time::Duration,
};

use netdiv_proto::{
    PROTOCOL_VERSION, SessionHeader,
    burst::Messages,
    framing, limits,
    v1::{CallHeader, CallStatus},
};
use prost::Message;
use quinn::{Endpoint, Incoming, RecvStream, SendStream, VarInt, crypto::rustls::QuicServerConfig};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tonic::Status;
use tracing::debug;

use super::{
    ALPN,
    chunks::{Received, send_all},
    endpoint::{self, Path, default_mtu},
};
use crate::{
    Handler,
    connections::{Connections, FIRST_CALL, MAX_HANDSHAKES},
    security::{SecurityError, ServerTls, ServerToken},
};

/// How long a call may take to say what it is, and a connection to shake hands.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a node's QUIC is set to.
#[derive(Debug)]
pub struct QuicServer {
    /// Certificate and demands. `None`: a certificate that nobody can check.
    pub tls: Option<Arc<ServerTls>>,
    /// Calls without it are refused.
    pub token: Option<Arc<ServerToken>>,
    /// The places for connections.
    pub connections: Connections,
    /// Longest UDP payload to try; `None`: [`super::default_mtu`].
    pub mtu: Option<u16>,
    /// What a client may send on one stream before it is read, in bytes.
    pub window_bytes: u32,
    /// The same for all streams of a connection.
    pub connection_window_bytes: u32,
    /// How often a connection is asked whether it lives.
    pub keepalive_interval: Duration,
    /// How long the answer to that may take.
    pub keepalive_timeout: Duration,
}

/// Serves on a socket until `ending` turns true and all calls are answered. An error means that it could not begin.
pub fn serve<H: Handler>(
    settings: QuicServer,
    socket: UdpSocket,
    handler: H,
    ending: watch::Receiver<bool>,
) -> io::Result<impl Future<Output = ()> + Send> {
    let tls = match &settings.tls {
        Some(tls) => tls.clone(),
        None => Arc::new(ServerTls::unproven().map_err(io::Error::other)?),
    };
    let config = server_config(&tls, &settings, socket.local_addr()?).map_err(io::Error::other)?;
    let endpoint = endpoint::open(socket, Some(config))?;
    Ok(accept(endpoint, settings, tls, handler, ending))
}

/// The configuration for a connection with that peer.
fn server_config(
    tls: &ServerTls,
    settings: &QuicServer,
    peer: SocketAddr,
) -> Result<quinn::ServerConfig, SecurityError> {
    let crypto = QuicServerConfig::try_from(tls.config(ALPN))
        .map_err(|error| SecurityError::Unusable { path: "QUIC".into(), why: error.to_string() })?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let path = Path {
        mtu: settings.mtu.unwrap_or_else(|| default_mtu(peer.ip())),
        window_bytes: settings.window_bytes,
        connection_window_bytes: settings.connection_window_bytes,
        keepalive_interval: settings.keepalive_interval,
        keepalive_timeout: settings.keepalive_timeout,
    };
    config.transport_config(path.transport());
    Ok(config)
}

async fn accept<H: Handler>(
    endpoint: Endpoint,
    settings: QuicServer,
    tls: Arc<ServerTls>,
    handler: H,
    mut ending: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let handshakes = Arc::new(Semaphore::new(MAX_HANDSHAKES));
    loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            Some(_) = connections.join_next() => continue,
            _ = ending.wait_for(|ending| *ending) => break,
        };
        let Some(incoming) = incoming else { break };
        if connections.len() >= settings.connections.trusting() && incoming.may_retry() {
            // An address that somebody made up does not come back.
            let _ = incoming.retry();
            continue;
        }
        let peer = incoming.remote_address();
        let refusals = settings.connections.refusals();
        let Ok(turn) = handshakes.clone().try_acquire_owned() else {
            refusals.warn(peer, "a connection was refused", "too many handshakes are under way");
            incoming.refuse();
            continue;
        };
        match server_config(&tls, &settings, peer) {
            Ok(config) => {
                let (token, ending) = (settings.token.clone(), ending.clone());
                let (handler, places) = (handler.clone(), settings.connections.clone());
                connections
                    .spawn(connection(incoming, config, turn, places, handler, token, ending));
            }
            Err(error) => {
                refusals.warn(peer, "a connection was refused", error);
                incoming.refuse();
            }
        }
    }
    // What was read is answered before the connections are closed.
    endpoint.set_server_config(None);
    while connections.join_next().await.is_some() {}
    endpoint.close(VarInt::from_u32(0), b"the node ends");
    endpoint.wait_idle().await;
}

async fn connection<H: Handler>(
    incoming: Incoming,
    config: quinn::ServerConfig,
    turn: OwnedSemaphorePermit,
    connections: Connections,
    handler: H,
    token: Option<Arc<ServerToken>>,
    mut ending: watch::Receiver<bool>,
) {
    let peer = incoming.remote_address();
    let refused = |why: &str| connections.refusals().warn(peer, "a connection was refused", why);
    let shaken = match incoming.accept_with(Arc::new(config)) {
        Ok(connecting) => timeout(PATIENCE, connecting).await,
        Err(error) => return refused(&error.to_string()),
    };
    let connection = match shaken {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return refused(&error.to_string()),
        Err(_) => return refused("no handshake in time"),
    };
    drop(turn);
    let _place = match connections.take() {
        Ok(place) => place,
        Err(why) => {
            connection.close(VarInt::from_u32(0), why.as_bytes());
            return refused(&why);
        }
    };
    debug!(%peer, "a connection begins");
    let mut calls = JoinSet::new();
    let mut welcome = false;
    let patience = sleep(FIRST_CALL);
    tokio::pin!(patience);
    loop {
        let (send, receive) = tokio::select! {
            stream = connection.accept_bi() => match stream {
                Ok(stream) => stream,
                Err(_) => break,
            },
            Some(call) = calls.join_next() => {
                welcome |= matches!(call, Ok(true));
                continue;
            }
            // One that makes no call, or none that is allowed, would keep its place for ever.
            () = &mut patience, if !welcome && calls.is_empty() => {
                if !connections.are_scarce() {
                    patience.as_mut().reset(Instant::now() + FIRST_CALL);
                    continue;
                }
                refused("no call in time, and others want its place");
                connection.close(VarInt::from_u32(0), b"no call in time");
                break;
            }
            _ = ending.wait_for(|ending| *ending) => break,
        };
        let (handler, token, places) = (handler.clone(), token.clone(), connections.clone());
        calls.spawn(async move {
            let outcome = call(send, receive, &handler, token.as_deref(), peer).await;
            if let Err(status) = &outcome {
                places.refusals().warn(peer, "a call failed", status.message());
            }
            outcome.is_ok()
        });
    }
    while calls.join_next().await.is_some() {}
}

/// Answers one call. The error was sent to the caller.
async fn call<H: Handler>(
    mut send: SendStream,
    receive: RecvStream,
    handler: &H,
    token: Option<&ServerToken>,
    peer: SocketAddr,
) -> Result<(), Status> {
    let outcome = answer(&mut send, receive, handler, token, peer).await;
    let status = outcome.as_ref().err();
    let end = CallStatus {
        code: status.map_or(0, |status| status.code() as i32),
        message: status.map_or_else(String::new, |status| status.message().into()),
    };
    // A caller that has gone does not want to know.
    if send.write_chunk(framing::encode_end(&end)).await.is_ok() && send.finish().is_ok() {
        let _ = send.stopped().await;
    }
    outcome
}

async fn answer<H: Handler>(
    send: &mut SendStream,
    receive: RecvStream,
    handler: &H,
    token: Option<&ServerToken>,
    peer: SocketAddr,
) -> Result<(), Status> {
    let mut requests = Messages::new(Received::new(receive), limits::MAX_HEADER_BYTES);
    let header: CallHeader = timeout(PATIENCE, requests.next_message())
        .await
        .map_err(|_| Status::deadline_exceeded("the call does not say what it is"))??
        .ok_or_else(|| Status::invalid_argument("a call begins with a CallHeader"))?;
    if token.is_some_and(|token| !token.is(&header.token)) {
        return Err(Status::unauthenticated(crate::security::WRONG_TOKEN));
    }
    if header.protocol_version != PROTOCOL_VERSION {
        let theirs = header.protocol_version;
        let text = format!("version {theirs} of the wire contract; this is {PROTOCOL_VERSION}");
        return Err(Status::failed_precondition(text));
    }
    match header.method.as_str() {
        "Describe" => {
            let asked = request(&mut requests).await?;
            reply(send, &handler.describe(asked, Some(peer)).await?).await
        }
        "Digests" => reply(send, &handler.digests(request(&mut requests).await?).await?).await,
        "Flush" => reply(send, &handler.flush(request(&mut requests).await?).await?).await,
        "Infer" => {
            requests.set_longest(handler.longest_request());
            let CallHeader { session: name, digests, checksums, .. } = header;
            let session = SessionHeader { name, digests, checksums };
            let replies = handler.infer(&session, requests)?;
            // A caller that has gone is seen by who reads its requests.
            send_all(send, replies).await.unwrap_or(Ok(()))
        }
        other => Err(Status::unimplemented(format!("no method `{}`", other.escape_debug()))),
    }
}

/// The only request of a call.
async fn request<M: Message + Default>(requests: &mut Messages<Received>) -> Result<M, Status> {
    let request = timeout(PATIENCE, requests.next_message()).await;
    let request = request.map_err(|_| Status::deadline_exceeded("no request in time"))??;
    request.ok_or_else(|| Status::invalid_argument("the request is missing"))
}

/// The only reply of a call.
async fn reply(send: &mut SendStream, message: &impl Message) -> Result<(), Status> {
    let sent = send.write_chunk(framing::encode(message)).await;
    sent.map_err(|error| Status::unavailable(error.to_string()))
}
