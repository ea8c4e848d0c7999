//! Reason why a connection ended: its calls only report that the connection is broken. Codes with
//! which a peer closes an HTTP/2 connection, or ends one call on it.

use std::{
    error::Error,
    fmt, io, iter,
    sync::{Arc, OnceLock},
    time::Duration,
};

use h2::Reason;
use tokio::{sync::watch, time::timeout};
use tonic::{Code, Status};

use crate::open_error::peer_reason;

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

/// Remedy that is shown if the peer detected a violation of HTTP/2.
const VIOLATION: &str =
    "connect without a proxy, install current releases at both ends, and see the log there";

/// Code with which a peer closed a connection (GOAWAY) or ended one call on it (RST_STREAM),
/// according to RFC 9113, section 7.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http2Close {
    /// Set for RST_STREAM: the peer ended one call and keeps the connection open.
    ends_call_alone: bool,
    reason: Reason,
    /// Text that the peer sent with the code, escaped and truncated; empty for RST_STREAM, which
    /// has no text, and for a shutdown, whose text hyper drops.
    debug_data: String,
}

impl Http2Close {
    /// Creates the value for a peer that shuts the connection down.
    fn shutdown() -> Self {
        Self { ends_call_alone: false, reason: Reason::NO_ERROR, debug_data: String::new() }
    }

    /// Returns the code with which a peer caused an error, found in the error or its sources;
    /// `None` if there is no such code. For the error of a call, GOAWAY means that the peer did not
    /// process the call: its stream is above the last one that the frame names.
    pub fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        iter::successors(Some(error), |cause| (*cause).source()).find_map(|cause| {
            let known = cause.downcast_ref::<Self>().cloned();
            known.or_else(|| cause.downcast_ref().and_then(Self::of_library))
        })
    }

    fn of_library(error: &h2::Error) -> Option<Self> {
        let reason = error.reason().filter(|_| error.is_remote())?;
        // The library exposes the text only here, as in `… (b"too_many_pings")`.
        let text = error.to_string();
        let debug_data = text.split_once(" (b\"").and_then(|(_, text)| text.strip_suffix("\")"));
        let debug_data = peer_reason(debug_data.unwrap_or_default().as_bytes());
        Some(Self { ends_call_alone: error.is_reset(), reason, debug_data })
    }

    /// Returns true if the client may try again: the peer asks for a new connection, or has refused
    /// the call without processing it.
    pub fn invites_retry(&self) -> bool {
        self.refuses_call() || !self.ends_call_alone && self.reason == Reason::NO_ERROR
    }

    /// Returns true if the peer refused one call without processing it.
    pub fn refuses_call(&self) -> bool {
        self.ends_call_alone && self.reason == Reason::REFUSED_STREAM
    }

    /// Returns true if the peer closed the connection because this program exceeds a limit of the
    /// peer. The peer has not processed a call that ended with this code.
    pub fn limits_load(&self) -> bool {
        !self.ends_call_alone && self.reason == Reason::ENHANCE_YOUR_CALM
    }

    /// Returns the meaning of the code, and the remedy, for display.
    fn advice(&self) -> (&'static str, &'static str) {
        match self.reason {
            Reason::NO_ERROR if self.ends_call_alone => {
                ("it does not need the rest of the call", "see the log there")
            }
            Reason::NO_ERROR => {
                ("it is shutting down, or it limits the age of connections", "try again")
            }
            Reason::PROTOCOL_ERROR => ("it detected a violation of HTTP/2", VIOLATION),
            Reason::INTERNAL_ERROR => ("it failed", "see the log there"),
            Reason::FLOW_CONTROL_ERROR => ("it received more than its windows allow", VIOLATION),
            Reason::SETTINGS_TIMEOUT => (
                "it received no acknowledgement of its settings in time",
                "check the network, and the load of both machines",
            ),
            Reason::STREAM_CLOSED => ("it received a frame of a call that had ended", VIOLATION),
            Reason::FRAME_SIZE_ERROR => ("it received a frame of an invalid length", VIOLATION),
            Reason::REFUSED_STREAM => (
                "it is shutting down, or has its maximum number of calls",
                "try again, or raise its limit of concurrent streams",
            ),
            Reason::CANCEL => ("it gave up the call", "look for a time limit there, or in a proxy"),
            Reason::COMPRESSION_ERROR => ("it cannot decode the headers", VIOLATION),
            Reason::CONNECT_ERROR => (
                "it is a proxy, and lost its connection to the server",
                "connect without the proxy, or see its log",
            ),
            Reason::ENHANCE_YOUR_CALM => (
                "this program exceeds its limit of pings, calls or resets",
                "connect without the proxy that has such a limit, or raise it (a ping each second is normal)",
            ),
            Reason::INADEQUATE_SECURITY => {
                ("it demands stronger encryption", "connect with TLS 1.3")
            }
            Reason::HTTP_1_1_REQUIRED => (
                "it supports only HTTP/1.1",
                "use a port that supports HTTP/2, or an http:// URL for a serving engine",
            ),
            _ => ("RFC 9113 does not define this code", "see the log there"),
        }
    }
}

impl fmt::Display for Http2Close {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.ends_call_alone {
            "it ended the call with RST_STREAM "
        } else {
            "it closed the connection with GOAWAY "
        })?;
        match u32::from(self.reason) {
            ..=13 => write!(f, "{:?}", self.reason)?,
            code => write!(f, "{code:#x}")?,
        }
        if !self.debug_data.is_empty() {
            write!(f, " (\"{}\")", self.debug_data)?;
        }
        let (meaning, remedy) = self.advice();
        write!(f, ": {meaning}; {remedy}")
    }
}

impl Error for Http2Close {}
