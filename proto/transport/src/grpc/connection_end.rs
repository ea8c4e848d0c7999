//! Reason why a connection ended. Its calls only report that the connection is broken.

use std::{
    error::Error,
    io, iter,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::{sync::watch, time::timeout};
use tonic::{Code, Status};

use super::http2_close::Http2Close;

/// Error text for a peer that does not answer a ping. hyper then drops the connection.
const NO_PONG: &str = "it did not answer a ping within --keepalive-timeout";

const CLOSED: &str = "it closed the connection";

/// Maximum time from the error of a broken call to the end of its connection.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reason why a connection, or a call on it, ended.
#[derive(Debug, Clone)]
enum EndReason {
    /// Code from the peer.
    Code(Http2Close),
    /// Error of the connection.
    Broken(String),
}

impl EndReason {
    /// Returns the reason for an outcome of hyper's connection, on a wire that broke with `broken`.
    fn of_connection(outcome: &hyper::Result<()>, broken: Option<&String>) -> Self {
        if let Some(error) = broken {
            return Self::Broken(error.clone());
        }
        let Err(error) = outcome else {
            // hyper reports a GOAWAY with the code NO_ERROR as success, without its text.
            return Self::Code(Http2Close::shutdown());
        };
        if let Some(close) = Http2Close::of(error) {
            return Self::Code(close);
        }
        Self::Broken(match error.source() {
            _ if error.is_timeout() => NO_PONG.into(),
            Some(cause) if !cause.is::<io::Error>() => cause.to_string(),
            _ => CLOSED.into(),
        })
    }
}

/// Reason why a connection ended, once it has. Clones share the reason of one connection.
#[derive(Debug, Clone)]
pub(super) struct ConnectionEnd(watch::Receiver<Option<EndReason>>);

impl ConnectionEnd {
    /// Returns the end of a connection, and the future that runs the connection to its end.
    /// `broken` has the error of its wire, if there was one.
    pub(super) fn of(
        connection: impl Future<Output = hyper::Result<()>>,
        broken: Arc<OnceLock<String>>,
    ) -> (Self, impl Future<Output = ()>) {
        let (sender, receiver) = watch::channel(None);
        let run = async move {
            let outcome = connection.await;
            sender.send_replace(Some(EndReason::of_connection(&outcome, broken.get())));
        };
        (Self(receiver), run)
    }

    /// Returns the status of a broken call with the reason why its connection ended. Returns a
    /// status that the node sent unchanged.
    pub(super) async fn explain(mut self, status: Status) -> Status {
        let reason = match Http2Close::of(&status) {
            Some(close) => EndReason::Code(close),
            None if is_cut_off(&status) => self.reason().await,
            None => return status,
        };
        match reason {
            EndReason::Code(close) => {
                let code = if close.ends_call_alone { status.code() } else { Code::Unavailable };
                let mut status = Status::new(code, close.to_string());
                status.set_source(Arc::new(close));
                status
            }
            // With TLS 1.3, a client may send before the node has checked its certificate.
            EndReason::Broken(why) if why.contains("fatal alert") => Status::unauthenticated(why),
            EndReason::Broken(why) => Status::unavailable(why),
        }
    }

    /// Waits for the end of the connection. The calls that it cuts off may fail earlier.
    async fn reason(&mut self) -> EndReason {
        let ended = timeout(PATIENCE, self.0.wait_for(Option::is_some)).await;
        let reason = ended.ok().and_then(Result::ok).and_then(|reason| reason.clone());
        reason.unwrap_or_else(|| EndReason::Broken(CLOSED.into()))
    }
}

/// Returns true if a call ended only because its connection did. After an unanswered ping, hyper
/// reports a timeout to a call that waits for its headers, and a broken pipe to other calls. It
/// cancels calls of a connection that has ended.
fn is_cut_off(status: &Status) -> bool {
    let is_cut = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref().is_some_and(h2::Error::is_io)
            || cause.downcast_ref::<hyper::Error>().is_some_and(|error| {
                error.is_timeout()
                    || error.is_canceled()
                    || error.source().is_some_and(|cause| cause.is::<io::Error>())
            })
    };
    iter::successors(status.source(), |&cause| cause.source()).any(is_cut)
}
