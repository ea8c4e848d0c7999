//! The node's end of QUIC.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    sync::Arc,
    time::Duration,
};

use quinn::{Connection, Endpoint, Incoming, VarInt, crypto::rustls::QuicServerConfig};
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tracing::debug;

use super::{
    calls::call,
    endpoint::{self, ALPN, Path, default_mtu},
};
use crate::{
    connections::{Connections, FIRST_CALL},
    handler::Handler,
    security::{SecurityError, ServerTls, ServerToken},
};

/// How long a connection may take for its handshake.
const PATIENCE: Duration = Duration::from_secs(10);

/// Settings of a node's QUIC.
#[derive(Debug)]
pub struct QuicServer {
    /// Certificate, and demands on clients. `None`: a new certificate, which proves no identity.
    pub tls: Option<Arc<ServerTls>>,
    /// If set, calls without it are refused.
    pub token: Option<Arc<ServerToken>>,
    /// The places for connections.
    pub connections: Connections,
    /// Longest UDP payload to try; `None`: [`super::default_mtu`].
    pub mtu: Option<u16>,
    /// What a client may send on one stream before it is read, in bytes.
    pub window_bytes: u32,
    /// The same for all streams of a connection.
    pub connection_window_bytes: u32,
    /// Interval of keepalive pings.
    pub keepalive_interval: Duration,
    /// How long a connection may be silent before it counts as lost.
    pub keepalive_timeout: Duration,
}

/// Serves on a socket until `ending` turns true and all calls are answered. An error means that it could not start.
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
    let handshakes = settings.connections.handshakes();
    loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            Some(_) = connections.join_next() => continue,
            _ = ending.wait_for(|ending| *ending) => break,
        };
        let Some(incoming) = incoming else { break };
        if connections.len() >= settings.connections.trusting() && incoming.may_retry() {
            // A forged address does not answer.
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
    // Requests that were read are answered before the connections are closed.
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
    ending: watch::Receiver<bool>,
) {
    let peer = incoming.remote_address();
    let outcome = match shake_hands(incoming, config, turn).await {
        Ok(connection) => answer_calls(connection, &connections, &handler, token, ending).await,
        Err(why) => Err(why),
    };
    if let Err(why) = outcome {
        connections.refusals().warn(peer, "a connection was refused", why);
    }
}

/// Makes the handshake, within its permit. The error says why there is no connection.
async fn shake_hands(
    incoming: Incoming,
    config: quinn::ServerConfig,
    _turn: OwnedSemaphorePermit,
) -> Result<Connection, String> {
    let connecting = incoming.accept_with(Arc::new(config)).map_err(|error| error.to_string())?;
    let shaken = timeout(PATIENCE, connecting).await;
    let shaken = shaken.map_err(|_| "no handshake in time".to_owned())?;
    shaken.map_err(|error| error.to_string())
}

/// Answers calls until the connection or the node ends. The error is the reason why the node closed the connection.
async fn answer_calls<H: Handler>(
    connection: Connection,
    connections: &Connections,
    handler: &H,
    token: Option<Arc<ServerToken>>,
    mut ending: watch::Receiver<bool>,
) -> Result<(), String> {
    let close = |why: &str| connection.close(VarInt::from_u32(0), why.as_bytes());
    let _place = connections.take().inspect_err(|why| close(why))?;
    let peer = connection.remote_address();
    debug!(%peer, "a connection begins");
    let mut calls = JoinSet::new();
    let mut welcome = false;
    let mut refused = Ok(());
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
            // A connection without an authorized call would keep its place for ever.
            () = &mut patience, if !welcome && calls.is_empty() => {
                if !connections.are_scarce() {
                    patience.as_mut().reset(Instant::now() + FIRST_CALL);
                    continue;
                }
                close("no call in time");
                refused = Err("no authorized call in time, and places are scarce".into());
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
    refused
}
