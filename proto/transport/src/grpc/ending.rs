//! How a connection ended, for its calls, which see only that it is broken.

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

use tonic::{Code, Status};

/// hyper drops a connection whose ping is not answered.
const NO_PONG: &str = "it did not answer a ping within --keepalive-timeout-ms";

/// How a connection ended. Clones are the same connection's.
#[derive(Debug, Clone, Default)]
pub(super) struct Ending {
    /// The first error; later ones follow from it.
    error: Arc<OnceLock<String>>,
    /// The peer sends nothing any more.
    closed: Arc<AtomicBool>,
}

impl Ending {
    /// Notes how an attempt to read or write ended.
    pub(super) fn note<T>(&self, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &outcome {
            match error.kind() {
                // TLS, and who writes, learn so that the peer is gone.
                ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => self.close(),
                _ => drop(self.error.set(error.to_string())),
            }
        }
        outcome
    }

    /// Notes that the peer has closed its end.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// The error that broke the connection.
    pub(super) fn error(&self) -> Option<&str> {
        self.error.get().map(String::as_str)
    }

    /// Says of a call that broke off how its connection ended. What a node says itself stays as it is.
    pub(super) fn explain(&self, status: Status) -> Status {
        let how = match self.error() {
            _ if status.source().is_none() => return status,
            Some(error) => error,
            None if !is_cut_off(&status) => return status,
            None if self.closed.load(Ordering::Relaxed) => "it closed the connection",
            None => NO_PONG,
        };
        Status::new(Code::Unavailable, how)
    }
}

/// Whether a call ended only because its connection did: a ping that is not answered is a timeout to a call that waits for
/// headers, and a broken pipe to others.
fn is_cut_off(status: &Status) -> bool {
    let is_cut = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref().is_some_and(h2::Error::is_io)
            || cause.downcast_ref().is_some_and(hyper::Error::is_timeout)
    };
    iter::successors(status.source(), |&cause| cause.source()).any(is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call that broke off, on a connection whose reads ended so.
    fn explained(reads: &[ErrorKind]) -> Status {
        let ending = Ending::default();
        for kind in reads {
            let outcome: Poll<io::Result<()>> = ending.note(Poll::Ready(Err((*kind).into())));
            assert!(outcome.is_ready());
        }
        ending.explain(Status::from_error(Box::new(io::Error::from(ErrorKind::NotConnected))))
    }

    // That a connection was closed or silent is for real ones to show: `tests/tests/faults/`.
    #[test]
    fn a_call_that_broke_off_says_the_first_error_of_its_connection() {
        let status = explained(&[ErrorKind::ConnectionReset, ErrorKind::TimedOut]);
        assert_eq!((status.code(), status.message()), (Code::Unavailable, "connection reset"));
        assert_eq!(explained(&[ErrorKind::BrokenPipe]).message(), "not connected");
    }

    #[test]
    fn what_the_node_says_stays() {
        let ending = Ending::default();
        ending.error.set("connection reset".into()).expect("once");
        let said = ending.explain(Status::failed_precondition("no such session"));
        assert_eq!((said.code(), said.message()), (Code::FailedPrecondition, "no such session"));
    }
}
