//! TCP connections, plain or with TLS.

use std::{
    io::{self, IoSlice},
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc, watch},
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use tonic::transport::server::Connected;
use tracing::{debug, warn};

use crate::security::{self, ClientTls, ServerTls};

/// What a client of HTTP/2 sends first, in bytes (RFC 9113, section 3.4).
const PREFACE_BYTES: usize = 24;

/// How long a new connection may take to agree on TLS, and then to send that.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a refused peer may take to go.
const LINGER: Duration = Duration::from_secs(1);

/// Connections that may agree on TLS at the same time; the next ones wait in the system's queue.
const MAX_HANDSHAKES: usize = 1024;

/// ALPN of HTTP/2.
const HTTP2: &[u8] = b"h2";

/// Ends when nobody waits any longer.
type Patience = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One TCP connection.
pub struct Wire {
    stream: Inner,
    /// Until the peer has sent the preface of HTTP/2: what is missing of it, and how long that may take.
    preface: Option<(usize, Patience)>,
    fault: Fault,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("stream", &self.stream).finish_non_exhaustive()
    }
}

/// The first error of a connection, for who sees only that it is broken.
#[derive(Debug, Clone, Default)]
pub(super) struct Fault(Arc<OnceLock<String>>);

impl Fault {
    pub(super) fn get(&self) -> Option<&String> {
        self.0.get()
    }

    /// The error, or what else is known.
    pub(super) fn or(&self, other: String) -> String {
        self.get().cloned().unwrap_or(other)
    }
}

#[derive(Debug)]
enum Inner {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Wire {
    pub(super) fn plain(stream: TcpStream, fault: Fault) -> Self {
        Self { stream: Inner::Plain(stream), preface: None, fault }
    }

    /// Agrees on TLS as the client.
    pub(super) async fn client(
        stream: TcpStream,
        tls: &ClientTls,
        host: &str,
        fault: Fault,
    ) -> io::Result<Self> {
        let name = security::server_name(host)?;
        let stream = TlsConnector::from(Arc::new(tls.config(HTTP2))).connect(name, stream).await?;
        Ok(Self { stream: Inner::Tls(Box::new(stream.into())), preface: None, fault })
    }

    /// Takes a connection as the node.
    async fn server(
        stream: TcpStream,
        tls: Option<&ServerTls>,
        mut ending: watch::Receiver<bool>,
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
        let patience: Patience = Box::pin(async move {
            tokio::select! {
                () = sleep(PATIENCE) => {}
                // A node that ends does not wait for those who have not begun.
                _ = ending.wait_for(|ending| *ending) => {}
            }
        });
        Ok(Self { stream, preface: Some((PREFACE_BYTES, patience)), fault: Fault::default() })
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
    ending: watch::Receiver<bool>,
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
                    warn!(%error, "cannot take a connection");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            // The semaphore is never closed.
            let Ok(turn) = handshakes.clone().acquire_owned().await else { return };
            let (sender, tls, ending) = (sender.clone(), tls.clone(), ending.clone());
            tokio::spawn(async move {
                let wire = Wire::server(stream, tls.as_deref(), ending).await;
                drop(turn);
                match wire {
                    Ok(wire) => {
                        debug!(%peer, "a connection begins");
                        // The server has ended when nobody takes it.
                        let _ = sender.send(Ok(wire)).await;
                    }
                    Err((error, stream)) => {
                        warn!(%peer, %error, "a connection was refused");
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
    type ConnectInfo = Option<SocketAddr>;

    fn connect_info(&self) -> Self::ConnectInfo {
        let stream = match &self.stream {
            Inner::Plain(stream) => stream,
            Inner::Tls(stream) => stream.get_ref().0,
        };
        stream.peer_addr().ok()
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
        match (read, &mut self.preface) {
            (Poll::Pending, Some((_, deadline))) => {
                ready!(deadline.as_mut().poll(context));
                let text = "the peer connected and did not begin to speak HTTP/2";
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
            }
            (Poll::Ready(Err(error)), _) => {
                // Later ones follow from the first.
                let _ = self.fault.0.set(error.to_string());
                Poll::Ready(Err(error))
            }
            (Poll::Ready(Ok(())), Some((missing, _))) => {
                *missing = missing.saturating_sub(into.filled().len() - before);
                if *missing == 0 {
                    self.preface = None;
                }
                Poll::Ready(Ok(()))
            }
            (read, None) => read,
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Inner::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Inner::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Inner::Plain(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
            Inner::Tls(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Inner::Plain(stream) => stream.is_write_vectored(),
            Inner::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Inner::Plain(stream) => Pin::new(stream).poll_flush(context),
            Inner::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Inner::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Inner::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
