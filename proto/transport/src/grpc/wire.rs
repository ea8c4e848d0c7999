//! TCP connection, plain or with TLS.

use std::{
    io::{self, ErrorKind, IoSlice},
    mem,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
    time::Duration,
};

use rustls::AlertDescription;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::watch,
    time::{Sleep, sleep},
};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use tokio_util::either::Either;
use tonic::transport::server::Connected;
use tracing::{field::display, warn};

use super::pending_peer::PendingPeer;
use crate::{
    connections::PeerConnection,
    open_error::CERTIFICATE_REMEDY,
    security::{self, ClientTls, ServerTls},
};

/// Maximum time for the TLS handshake of a new connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum time for the peer to close its half after the node has closed its own.
const LINGER: Duration = Duration::from_secs(3);

/// Maximum number of bytes that the node reads at once from a new connection, or from a connection
/// that it closes.
const FEW: usize = 4 << 10;

/// ALPN of HTTP/2.
const HTTP2: &[u8] = b"h2";

/// Beginning of an HTTP/1 answer, which a peer without HTTP/2 sends instead of the first frame.
const HTTP1: &[u8] = b"HTTP/1.";

/// TCP stream, plain or with TLS.
type TcpOrTls = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// TCP connection, plain or with TLS.
pub struct Wire {
    stream: TcpOrTls,
    /// Limits on a new connection; at the node only, until a call is admitted.
    newcomer: Option<PendingPeer>,
    /// Set once a new connection was refused.
    refused: bool,
    caller: Caller,
    /// Set at a client until it has received its first bytes.
    awaits_answer: bool,
    /// First error of the connection, unless it only says that the peer is gone. Later errors
    /// follow from it.
    pub(super) error: Arc<OnceLock<String>>,
    /// Timer that starts when the node closes its half.
    lingering: Option<Pin<Box<Sleep>>>,
}

/// Peer that makes a call, for the service that answers the call.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Address of the caller.
    pub(super) address: Option<SocketAddr>,
    /// Connection on which the call arrived.
    pub(super) guest: Option<Arc<PeerConnection>>,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Wire {
    /// Creates a client's end without TLS.
    pub(super) fn plain(stream: TcpStream) -> Self {
        Self { awaits_answer: true, ..Self::new(Either::Left(stream)) }
    }

    /// Performs the TLS handshake as the client.
    pub(super) async fn client(stream: TcpStream, tls: &ClientTls, host: &str) -> io::Result<Self> {
        let name = security::server_name(host)?;
        let stream = TlsConnector::from(Arc::new(tls.config(HTTP2))).connect(name, stream).await?;
        let stream = Either::Right(Box::new(stream.into()));
        Ok(Self { awaits_answer: true, ..Self::new(stream) })
    }

    fn new(stream: TcpOrTls) -> Self {
        Self {
            stream,
            newcomer: None,
            refused: false,
            caller: Caller::default(),
            awaits_answer: false,
            error: Arc::default(),
            lingering: None,
        }
    }

    /// Accepts a connection as the node. If the TLS handshake fails, the error contains the socket,
    /// on which the peer has to read the alert.
    pub(super) async fn server(
        (stream, peer): (TcpStream, SocketAddr),
        tls: Option<&ServerTls>,
        guest: Arc<PeerConnection>,
        closing: watch::Receiver<bool>,
    ) -> Result<Self, (io::Error, Option<TcpStream>)> {
        stream.set_nodelay(true).map_err(|error| (error, None))?;
        let stream = match tls {
            None => Either::Left(stream),
            Some(tls) => {
                let acceptor = TlsAcceptor::from(Arc::new(tls.config(HTTP2)));
                let late = |why| (io::Error::new(ErrorKind::TimedOut, why), None);
                let accepted = tokio::select! {
                    accepted = acceptor.accept(stream).into_fallible() => accepted,
                    () = sleep(PATIENCE) => return Err(late("no TLS handshake")),
                    Err(why) = guest.admission() => return Err(late(why)),
                };
                let stream = accepted.map_err(|(error, stream)| (error, Some(stream)))?;
                Either::Right(Box::new(stream.into()))
            }
        };
        let mut wire = Self::new(stream);
        wire.newcomer = Some(PendingPeer::new(&guest, closing));
        wire.caller = Caller { address: Some(peer), guest: Some(guest) };
        Ok(wire)
    }

    /// Checks whether a call of a new connection was admitted. Fails if the connection has to
    /// close.
    fn judge(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let Some(newcomer) = &mut self.newcomer else { return Ok(()) };
        match newcomer.poll_judged(context) {
            Poll::Pending => Ok(()),
            Poll::Ready(Ok(())) => {
                self.newcomer = None;
                Ok(())
            }
            Poll::Ready(Err(why)) => {
                if !mem::replace(&mut self.refused, true) {
                    let peer = self.caller.address.map(display);
                    warn!(peer, %why, "a connection was refused");
                }
                Err(why)
            }
        }
    }

    fn read(&mut self, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let mut read = Pin::new(&mut self.stream).poll_read(context, into);
        let received = &into.filled()[before..];
        // NOTE: an answer whose first read is shorter is not recognized.
        if !received.is_empty() && mem::take(&mut self.awaits_answer) && received.starts_with(HTTP1)
        {
            let why = "it answers over HTTP/1.1, like a web server";
            read = Poll::Ready(Err(io::Error::new(ErrorKind::InvalidData, why)));
        }
        self.note(read)
    }

    /// Notes the outcome of an attempt to read or write.
    fn note<T>(&self, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &outcome
            // Errors by which TLS and writers detect that the peer is gone.
            && !matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe)
        {
            drop(self.error.set(with_remedy(error)));
        }
        outcome
    }

    /// Reads and drops what the peer still sends, until the peer closes its half or takes too long.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut dropped = [0; FEW];
        loop {
            let mut into = ReadBuf::new(&mut dropped);
            match self.read(context, &mut into) {
                Poll::Ready(Ok(())) if !into.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => break,
            }
        }
        self.lingering.get_or_insert_with(|| Box::pin(sleep(LINGER))).as_mut().poll(context)
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
        self.judge(context)?;
        let Some(newcomer) = &self.newcomer else { return self.read(context, into) };
        let room = newcomer.room().min(FEW);
        if room == 0 {
            // Continues when a call is admitted.
            return Poll::Pending;
        }
        let mut few = [0; FEW];
        let mut few = ReadBuf::new(&mut few[..room.min(into.remaining())]);
        ready!(self.read(context, &mut few))?;
        into.put_slice(few.filled());
        if let Some(newcomer) = &mut self.newcomer {
            newcomer.received(few.filled().len());
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.judge(context)?;
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.judge(context)?;
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.note(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.note(outcome)
    }

    /// Closes this end's half. At the node, for a client with an admitted call, it completes only
    /// when the client has closed its half too, or after the time `LINGER`: a connection that is
    /// dropped while the client still sends is reset, and the client may then not read why its
    /// calls ended.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        }
        let serves_client = self.caller.guest.is_some() && self.newcomer.is_none();
        if serves_client { self.poll_linger(context).map(Ok) } else { Poll::Ready(Ok(())) }
    }
}

/// Returns the text of an error, with the remedy where a node requires a certificate of the client.
fn with_remedy(error: &io::Error) -> String {
    match error.get_ref().and_then(|error| error.downcast_ref()) {
        Some(rustls::Error::AlertReceived(AlertDescription::CertificateRequired)) => {
            format!("{error}{CERTIFICATE_REMEDY}")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
