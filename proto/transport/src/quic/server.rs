//! Node's end of QUIC connections.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    sync::Arc,
    time::Duration,
};

use netdiv_contract::limits::MAX_CALLS;
use quinn::{Connection, Endpoint, Incoming, crypto::rustls::QuicServerConfig};
use tokio::{sync::watch, task::JoinSet, time::sleep};
use tracing::{debug, warn};

use super::{
    calls::call,
    ending::{NETDIV_CLOSES, explain},
    endpoint::{self, ALPN, ConnectionSettings, default_mtu},
};
use crate::{
    connections::{Connections, PeerConnection, STRANGER_BYTES, STRANGER_CALLS},
    handler::Handler,
    security::{SecurityError, ServerTls, ServerToken},
};

/// Maximum time for the handshake of a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// Settings with which a node serves QUIC.
#[derive(Debug)]
pub struct QuicServer {
    /// Certificate of the node, and the certificates that it requires of clients. `None`: a new
    /// certificate, which proves no identity, and no requirement.
    pub tls: Option<Arc<ServerTls>>,
    /// Token that calls must present; `None`: calls need no token.
    pub token: Option<Arc<ServerToken>>,
    /// Connections to the node over both transports, and the permits of its clients.
    pub connections: Connections,
    /// Longest UDP payload to try, in bytes; `None`: [`super::default_mtu`].
    pub mtu: Option<u16>,
    /// Maximum number of bytes that a client may send on one stream before the node reads them.
    pub window_bytes: u32,
    /// Maximum number of bytes that a client may send on all streams of a connection before the
    /// node reads them.
    pub connection_window_bytes: u32,
    /// Interval at which the node sends keepalive pings.
    pub keepalive_interval: Duration,
    /// Maximum silence of a connection before it counts as lost.
    pub keepalive_timeout: Duration,
}

/// Returns a future that serves on a socket until `ending` becomes true and all calls are answered.
/// Fails if the service cannot start.
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
    let buffer = endpoint::receive_buffer_bytes(&socket)?;
    let endpoint = endpoint::open(socket, Some(config))?;
    Ok(accept(endpoint, buffer, settings, tls, handler, ending))
}

/// Returns the configuration for a connection with the peer at this address.
fn server_config(
    tls: &ServerTls,
    settings: &QuicServer,
    peer: SocketAddr,
) -> Result<quinn::ServerConfig, SecurityError> {
    let crypto = QuicServerConfig::try_from(tls.config(ALPN))
        .map_err(|error| SecurityError(format!("QUIC cannot be used: {error}")))?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let path = ConnectionSettings {
        mtu: settings.mtu.unwrap_or_else(|| default_mtu(peer.ip())),
        window_bytes: settings.window_bytes,
        // A connection receives the larger window when it becomes a client.
        connection_window_bytes: settings.connection_window_bytes.min(STRANGER_BYTES as u32),
        // Each call may hold an incomplete header.
        calls: STRANGER_CALLS as u32,
        keepalive_interval: settings.keepalive_interval,
        keepalive_timeout: settings.keepalive_timeout,
        congestion_control: None,
    };
    config.transport_config(path.transport());
    Ok(config)
}

async fn accept<H: Handler>(
    endpoint: Endpoint,
    buffer: usize,
    settings: QuicServer,
    tls: Arc<ServerTls>,
    handler: H,
    mut ending: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            Some(_) = connections.join_next() => continue,
            _ = ending.wait_for(|ending| *ending) => break,
        };
        let Some(incoming) = incoming else { break };
        endpoint::note_small_buffers(buffer);
        if settings.connections.are_many() && incoming.may_retry() {
            // A peer with a forged address does not receive the request to try again, and so does
            // not answer it.
            let _ = incoming.retry();
            continue;
        }
        let peer = incoming.remote_address();
        match server_config(&tls, &settings, peer) {
            Ok(config) => {
                let node = ConnectionContext {
                    handler: handler.clone(),
                    token: settings.token.clone(),
                    connection_window_bytes: settings.connection_window_bytes,
                    ending: ending.clone(),
                };
                let guest = settings.connections.arrive(peer.ip());
                connections.spawn(connection(incoming, config, guest, node));
            }
            Err(error) => {
                warn!(%peer, why = %error, "a connection was refused");
                incoming.refuse();
            }
        }
    }
    // Requests that were read are answered before the connections are closed.
    endpoint.set_server_config(None);
    while connections.join_next().await.is_some() {}
    endpoint.close(NETDIV_CLOSES, b"the node ends");
    endpoint.wait_idle().await;
}

/// Data of the node that each of its connections uses.
struct ConnectionContext<H> {
    handler: H,
    token: Option<Arc<ServerToken>>,
    /// Maximum number of bytes that a client may send on all streams of a connection before the
    /// node reads them.
    connection_window_bytes: u32,
    ending: watch::Receiver<bool>,
}

async fn connection<H: Handler>(
    incoming: Incoming,
    config: quinn::ServerConfig,
    guest: Arc<PeerConnection>,
    node: ConnectionContext<H>,
) {
    let peer = incoming.remote_address();
    let outcome = match shake_hands(incoming, config, &guest).await {
        Ok(connection) => answer_calls(connection, guest, node).await,
        Err(why) => Err(why),
    };
    if let Err(why) = outcome {
        warn!(%peer, why, "a connection was refused");
    }
}

/// Performs the handshake of a new connection. The error is the reason why the connection was not
/// opened.
async fn shake_hands(
    incoming: Incoming,
    config: quinn::ServerConfig,
    guest: &PeerConnection,
) -> Result<Connection, String> {
    let connecting = incoming.accept_with(Arc::new(config)).map_err(|error| explain(&error))?;
    tokio::select! {
        shaken = connecting => shaken.map_err(|error| explain(&error)),
        () = sleep(PATIENCE) => Err("no handshake in time".into()),
        Err(why) = guest.admission() => Err(why.into()),
    }
}

/// Answers the calls of a connection until the connection or the node ends. Fails if the node
/// closes the connection before; the error is the reason.
async fn answer_calls<H: Handler>(
    connection: Connection,
    guest: Arc<PeerConnection>,
    mut node: ConnectionContext<H>,
) -> Result<(), String> {
    let peer = connection.remote_address();
    debug!(%peer, "a connection was opened");
    let mut calls = JoinSet::new();
    let mut refused = Ok(());
    let judged = guest.admission();
    tokio::pin!(judged);
    let mut is_stranger = true;
    loop {
        let (send, receive) = tokio::select! {
            stream = connection.accept_bi() => match stream {
                Ok(stream) => stream,
                Err(_) => break,
            },
            Some(_) = calls.join_next() => continue,
            judged = &mut judged, if is_stranger => match judged {
                Ok(()) => {
                    is_stranger = false;
                    connection.set_receive_window(node.connection_window_bytes.into());
                    connection.set_max_concurrent_bi_streams(MAX_CALLS.into());
                    continue;
                }
                Err(why) => {
                    connection.close(NETDIV_CLOSES, why.as_bytes());
                    refused = Err(why.into());
                    break;
                }
            },
            _ = node.ending.wait_for(|ending| *ending) => break,
        };
        let (handler, token, guest) = (node.handler.clone(), node.token.clone(), guest.clone());
        calls.spawn(async move {
            if let Err(status) = call(send, receive, &handler, token.as_deref(), peer, &guest).await
            {
                warn!(%peer, why = status.message(), "a call failed");
            }
        });
    }
    while calls.join_next().await.is_some() {}
    refused
}
