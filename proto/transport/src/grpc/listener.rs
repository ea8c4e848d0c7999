//! Accepts TCP connections.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use netdiv_node_common::resources::descriptors;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    task::yield_now,
    time::{sleep, timeout},
};
use tracing::{debug, warn};

use super::wire::Wire;
use crate::{connections::Connections, security::ServerTls};

/// Pauses after a connection could not be accepted. Pending connections that are closed to make
/// room free their files at once (`SOON`). Otherwise another file has to be closed, which may
/// happen at any time (`LATER`).
const SOON: Duration = Duration::from_millis(5);
const LATER: Duration = Duration::from_millis(100);

/// Maximum time for a refused peer to close the connection.
const LINGER: Duration = Duration::from_secs(1);

/// Closes a connection so that the peer can read the reason. Unread data from the peer would make
/// the kernel discard an alert that the peer has not read yet.
async fn linger(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    let read_all = async {
        let mut buffer = [0; 1024];
        while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
    };
    let _ = timeout(LINGER, read_all).await;
}

/// Stream of the connections that a listener accepts, for tonic's server.
#[derive(Debug)]
pub struct Incoming(mpsc::Receiver<io::Result<Wire>>);

/// Accepts connections in a task until the returned stream is dropped. A failed connection is
/// logged and does not affect other connections. When `closing` becomes true, connections that have
/// not started HTTP/2 are closed.
pub fn incoming(
    listener: TcpListener,
    tls: Option<Arc<ServerTls>>,
    connections: Connections,
    closing: watch::Receiver<bool>,
) -> Incoming {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = sender.closed() => return,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    warn!(%error, "a connection cannot be accepted");
                    let has_room = !descriptors::are_exhausted(&error) || connections.make_room();
                    sleep(if has_room { SOON } else { LATER }).await;
                    continue;
                }
            };
            let guest = connections.arrive(peer.ip());
            let (sender, tls, closing) = (sender.clone(), tls.clone(), closing.clone());
            tokio::spawn(async move {
                match Wire::server((stream, peer), tls.as_deref(), guest.clone(), closing).await {
                    Ok(wire) => {
                        debug!(%peer, "a connection was opened");
                        // This fails if the server has ended.
                        let _ = sender.send(Ok(wire)).await;
                    }
                    Err((error, stream)) => {
                        warn!(%peer, why = %error, "a connection was refused");
                        if let Some(stream) = stream {
                            tokio::select! {
                                () = linger(stream) => {}
                                _ = guest.admission() => {}
                            }
                        }
                    }
                }
            });
            // A pending connection that made room is closed before the next connection is accepted.
            yield_now().await;
        }
    });
    Incoming(receiver)
}

impl Stream for Incoming {
    type Item = io::Result<Wire>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
