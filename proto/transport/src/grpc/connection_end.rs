//! Reason why a connection ended. Its calls only report that the connection is broken.

use std::{
    error::Error,
    io::{self, ErrorKind},
    iter,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use parking_lot::Mutex;
use rustls::AlertDescription;
use tonic::{Code, Status};

use super::{
    frames::{FrameFinding, Frames},
    http2_close::Http2Close,
};
use crate::open_error::CERTIFICATE_REMEDY;

/// Error text for a peer that does not answer a ping. hyper then drops the connection.
const NO_PONG: &str = "it did not answer a ping within --keepalive-timeout";

const HTTP1: &str = "it answers over HTTP/1.1, like a web server";

/// Record of why a connection ended. Clones share the record of one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnectionEnd {
    /// First error of the connection; later errors follow from it.
    error: Arc<OnceLock<String>>,
    /// Set once the peer has closed its end.
    closed: Arc<AtomicBool>,
    /// Content of the latest GOAWAY frame from the peer.
    go_away: Arc<Mutex<Option<Http2Close>>>,
}

impl ConnectionEnd {
    /// Notes the outcome of an attempt to read or write.
    pub(super) fn note<T>(&self, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &outcome {
            match error.kind() {
                // Errors by which TLS and writers detect that the peer is gone.
                ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => self.close(),
                _ => drop(self.error.set(with_remedy(error))),
            }
        }
        outcome
    }

    /// Notes that the peer has closed its end.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Passes bytes from the peer to the parser `frames`, and notes the reason for which the peer
    /// closes the connection.
    pub(super) fn follow(&self, frames: &mut Frames, bytes: &[u8]) {
        match frames.follow(bytes) {
            Some(FrameFinding::GoAway(close)) => *self.go_away.lock() = Some(close),
            Some(FrameFinding::Http1) => drop(self.error.set(HTTP1.into())),
            None => {}
        }
    }

    /// Returns the error that broke the connection, if there was one.
    pub(super) fn error(&self) -> Option<&str> {
        self.error.get().map(String::as_str)
    }

    /// Returns the status of a broken call with the reason why its connection ended. Returns a
    /// status that the node sent unchanged.
    pub(super) fn explain(&self, status: Status) -> Status {
        if status.source().is_none() {
            return status;
        }
        // An old GOAWAY does not explain a connection that broke or fell silent.
        let is_silent = || !self.closed.load(Ordering::Relaxed) && is_cut_off(&status);
        let is_unexplained = || self.error().is_none() && !is_silent();
        let go_away = || self.go_away.lock().clone().filter(|_| is_unexplained());
        if let Some(close) = Http2Close::of(&status).or_else(go_away) {
            let code = if close.ends_call_alone() { status.code() } else { Code::Unavailable };
            let mut status = Status::new(code, close.to_string());
            status.set_source(Arc::new(close));
            return status;
        }
        let how = match self.error() {
            Some(error) => error,
            None if !is_cut_off(&status) => return status,
            None if self.closed.load(Ordering::Relaxed) => "it closed the connection",
            None => NO_PONG,
        };
        Status::new(Code::Unavailable, how)
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

/// Returns true if a call ended only because its connection did. After an unanswered ping, hyper
/// reports a timeout to a call that waits for its headers, and a broken pipe to other calls.
fn is_cut_off(status: &Status) -> bool {
    let is_cut = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref().is_some_and(h2::Error::is_io)
            || cause.downcast_ref::<hyper::Error>().is_some_and(|error| {
                error.is_timeout() || error.source().is_some_and(|cause| cause.is::<io::Error>())
            })
    };
    iter::successors(status.source(), |&cause| cause.source()).any(is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the status of a broken call, on a connection whose reads ended with these errors.
    fn explained(reads: &[ErrorKind]) -> Status {
        let ending = ConnectionEnd::default();
        for kind in reads {
            let outcome: Poll<io::Result<()>> = ending.note(Poll::Ready(Err((*kind).into())));
            assert!(outcome.is_ready());
        }
        ending.explain(Status::from_error(Box::new(io::Error::from(ErrorKind::NotConnected))))
    }

    // Closed and silent connections are tested with sockets, in `tests/transport/lifecycle.rs`.
    #[test]
    fn a_call_that_broke_off_says_the_first_error_of_its_connection() {
        let status = explained(&[ErrorKind::ConnectionReset, ErrorKind::TimedOut]);
        assert_eq!((status.code(), status.message()), (Code::Unavailable, "connection reset"));
        assert_eq!(explained(&[ErrorKind::BrokenPipe]).message(), "not connected");
    }

    #[test]
    fn what_the_node_says_stays() {
        let ending = ConnectionEnd::default();
        ending.error.set("connection reset".into()).expect("once");
        let said = ending.explain(Status::failed_precondition("no such session"));
        assert_eq!((said.code(), said.message()), (Code::FailedPrecondition, "no such session"));
    }
}
