//! One TCP connection, plain or with TLS.

use std::{
    io::{self, IoSlice},
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, atomic::AtomicBool},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::{OwnedSemaphorePermit, watch},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use tonic::transport::server::Connected;

use super::{ending::Ending, newcomer::Newcomer};
use crate::{
    connections::{Connections, Place},
    security::{self, ClientTls, ServerTls},
};

/// How long a new connection may take for the TLS handshake.
const PATIENCE: Duration = Duration::from_secs(5);

/// ALPN of HTTP/2.
const HTTP2: &[u8] = b"h2";

/// One TCP connection.
pub struct Wire {
    stream: Inner,
    /// At the node, until the first authorized call.
    newcomer: Option<Newcomer>,
    /// At the node, from the peer's HTTP/2 preface on. It is only held.
    place: Option<Place>,
    caller: Caller,
    ending: Ending,
}

/// The caller, for the service that answers the call.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Its address.
    pub(super) address: Option<SocketAddr>,
    /// Whether its connection has had an authorized call.
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

    /// Makes the TLS handshake as the client.
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

    /// Accepts a connection as the node.
    pub(super) async fn server(
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
