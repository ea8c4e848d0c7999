//! TCP connections, plain or with TLS.

use std::{
    io::{self, IoSlice},
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, atomic::AtomicBool},
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use tonic::transport::server::Connected;
use tracing::debug;

use super::{ending::Ending, newcomer::Newcomer};
use crate::{
    connections::{Connections, MAX_HANDSHAKES, Place},
    security::{self, ClientTls, ServerTls},
};

/// How long a new connection may take to agree on TLS.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a refused peer may take to go.
const LINGER: Duration = Duration::from_secs(1);

/// ALPN of HTTP/2.
const HTTP2: &[u8] = b"h2";

/// One TCP connection.
pub struct Wire {
    stream: Inner,
    /// At the node, until the first call.
    newcomer: Option<Newcomer>,
    /// At the node, from the peer's first bytes of HTTP/2 on; held, and never looked at.
    place: Option<Place>,
    caller: Caller,
    ending: Ending,
}

/// Who makes a call, for the service that answers it.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Its address.
    pub(super) address: Option<SocketAddr>,
    /// Whether a call was allowed on its connection.
    pub(super) called: Arc<AtomicBool>,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("stream", &self.stream).finish_non_exhaustive()
    }
}

#[derive(Debug)]
enum Inner {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Wire {
    pub(super) fn plain(stream: TcpStream, ending: Ending) -> Self {
        Self::new(Inner::Plain(stream), ending)
    }

    /// Agrees on TLS as the client.
    pub(super) async fn client(
        stream: TcpStream,
        tls: &ClientTls,
        host: &str,
        ending: Ending,
    ) -> io::Result<Self> {
        let name = security::server_name(host)?;
        let stream = TlsConnector::from(Arc::new(tls.config(HTTP2))).connect(name, stream).await?;
        Ok(Self::new(Inner::Tls(Box::new(stream.into())), ending))
    }

    fn new(stream: Inner, ending: Ending) -> Self {
        Self { stream, newcomer: None, place: None, caller: Caller::default(), ending }
    }

    /// Takes a connection as the node.
    async fn server(
        (stream, peer): (TcpStream, SocketAddr),
        tls: Option<&ServerTls>,
        turn: OwnedSemaphorePermit,
        connections: Connections,
        closing: watch::Receiver<bool>,
    ) -> Result<Self, (io::Error, Option<TcpStream>)> {
        stream.set_nodelay(true).map_err(|error| (error, None))?;
        let stream = match tls {
            None => Inner::Plain(stream),
            Some(tls) => {
                let acceptor = TlsAcceptor::from(Arc::new(tls.config(HTTP2)));
                let accepted = timeout(PATIENCE, acceptor.accept(stream).into_fallible()).await;
                let silent = || io::Error::new(io::ErrorKind::TimedOut, "no TLS handshake");
                let accepted = accepted.map_err(|_| (silent(), None))?;
                let stream = accepted.map_err(|(error, stream)| (error, Some(stream)))?;
                Inner::Tls(Box::new(stream.into()))
            }
        };
        let mut wire = Self::new(stream, Ending::default());
        wire.caller.address = Some(peer);
        let called = wire.caller.called.clone();
        wire.newcomer = Some(Newcomer::new(peer, turn, connections, called, closing));
        Ok(wire)
    }
}

/// Closes a connection so that the peer can read why: what it still sends must not make the system throw away the
/// alert that it has not read.
async fn linger(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    let read_all = async {
        let mut buffer = [0; 1024];
        while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
    };
    let _ = timeout(LINGER, read_all).await;
}

/// The connections of a listener, for tonic's server.
#[derive(Debug)]
pub struct Incoming(mpsc::Receiver<io::Result<Wire>>);

/// Takes connections until the receiver is gone. One that fails is logged, and the others live on.
pub fn incoming(
    listener: TcpListener,
    tls: Option<Arc<ServerTls>>,
    connections: Connections,
    closing: watch::Receiver<bool>,
) -> Incoming {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let handshakes = Arc::new(Semaphore::new(MAX_HANDSHAKES));
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = sender.closed() => return,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Too many open files, most likely: others have to end first.
                    let what = "a connection cannot be taken";
                    connections.refusals().warn("unknown", what, error);
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            // The semaphore is never closed.
            let Ok(turn) = handshakes.clone().acquire_owned().await else { return };
            let (sender, tls) = (sender.clone(), tls.clone());
            let (connections, closing) = (connections.clone(), closing.clone());
            tokio::spawn(async move {
                let places = connections.clone();
                match Wire::server((stream, peer), tls.as_deref(), turn, places, closing).await {
                    Ok(wire) => {
                        debug!(%peer, "a connection begins");
                        // The server has ended when nobody takes it.
                        let _ = sender.send(Ok(wire)).await;
                    }
                    Err((error, stream)) => {
                        connections.refusals().warn(peer, "a connection was refused", error);
                        if let Some(stream) = stream {
                            linger(stream).await;
                        }
                    }
                }
            });
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

impl Connected for Wire {
    type ConnectInfo = Caller;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.caller.clone()
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = match &mut self.stream {
            Inner::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Inner::Tls(stream) => Pin::new(stream).poll_read(context, into),
        };
        let read = self.ending.note(read);
        let nothing = into.filled().len() == before && into.remaining() > 0;
        if nothing && matches!(read, Poll::Ready(Ok(()))) {
            self.ending.close();
        }
        let Some(newcomer) = &mut self.newcomer else { return read };
        match read {
            Poll::Pending => {
                ready!(newcomer.poll_silent(context))?;
                self.newcomer = None;
                Poll::Pending
            }
            Poll::Ready(Ok(())) => {
                if let Some(place) = newcomer.received(into.filled().len() - before)? {
                    self.place = Some(place);
                }
                Poll::Ready(Ok(()))
            }
            read => read,
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = match &mut self.stream {
            Inner::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Inner::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        };
        self.ending.note(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = match &mut self.stream {
            Inner::Plain(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
            Inner::Tls(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
        };
        self.ending.note(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Inner::Plain(stream) => stream.is_write_vectored(),
            Inner::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = match &mut self.stream {
            Inner::Plain(stream) => Pin::new(stream).poll_flush(context),
            Inner::Tls(stream) => Pin::new(stream).poll_flush(context),
        };
        self.ending.note(outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Inner::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Inner::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
