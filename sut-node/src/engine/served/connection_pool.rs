//! Pools of connections to serving engines. Over HTTP/1.1 without TLS, the task that waits for a
//! response also drives its connection, so that no token passes between tasks.

use std::{
    error::Error,
    future::poll_fn,
    io::{self, ErrorKind},
    iter,
    mem::replace,
    pin::{Pin, pin},
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{
    HeaderValue, Request, Response, Uri, header,
    uri::{Authority, PathAndQuery},
};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::http1::{Builder, Connection, SendRequest},
};
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use netdiv_transport::security::ClientTls;
use parking_lot::Mutex;
use tokio::{net::TcpStream, spawn, task::yield_now, time::sleep};
use tower::ServiceExt as _;

use crate::engine::remote::connector::{Version, connector, plain};

/// Maximum read size and maximum length of a response's head, in bytes. Longer buffers would need
/// new memory from the system each time. Where tokens arrive one by one, buffers shrink
/// automatically.
const READ_BYTES: usize = 64 << 10;

/// Opens connections, and keeps those whose responses were read to the end.
pub(super) struct ConnectionPool {
    connector: HttpConnector,
    kept: Arc<Mutex<IdlePool>>,
}

#[derive(Default)]
struct IdlePool {
    /// Idle connections, the longest idle first.
    idle: Vec<Idle>,
    /// Set while a task closes connections that stay idle.
    is_watched: bool,
}

struct Idle {
    server: Authority,
    since: Instant,
    link: Link,
}

/// A connection, and the handle that sends requests over it.
struct Link {
    requests: SendRequest<Full<Bytes>>,
    connection: DrivenConnection,
}

/// Connection that makes progress only while its user polls it; `None` once it has ended.
struct DrivenConnection(Option<Connection<TokioIo<TcpStream>, Full<Bytes>>>);

impl ConnectionPool {
    pub(super) fn new() -> Self {
        Self { connector: plain(), kept: Arc::default() }
    }

    /// Sends a request to its URL, and waits until the response begins.
    pub(super) async fn request(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<AnswerBody>, Failure> {
        let url = request.uri().clone();
        let server = url.authority().ok_or("the URL has no host")?;
        request.headers_mut().insert(header::HOST, HeaderValue::from_str(server.as_str())?);
        *request.uri_mut() = url.path_and_query().map_or("/", PathAndQuery::as_str).parse()?;
        let answered = match self.take_idle(server) {
            Some(link) => match link.send(request.clone()).await {
                // llama.cpp closes connections after a response, although it announces that it
                // keeps them.
                Err(error) if was_closed(&error) => None,
                answered => Some(answered?),
            },
            None => None,
        };
        let (response, link) = match answered {
            Some(answered) => answered,
            None => self.connect(&url).await?.send(request).await?,
        };
        let (server, kept) = (server.clone(), self.kept.clone());
        Ok(response.map(|body| AnswerBody { body, link: Some(link), server, kept }))
    }

    fn take_idle(&self, server: &Authority) -> Option<Link> {
        let mut kept = self.kept.lock();
        let old = kept.expired_count();
        let latest = kept.idle[old..].iter().rposition(|idle| idle.server == *server);
        latest.map(|place| kept.idle.remove(old + place).link)
    }

    async fn connect(&self, url: &Uri) -> Result<Link, Failure> {
        let stream = self.connector.clone().oneshot(url.clone()).await?;
        let mut builder = Builder::new();
        builder.max_buf_size(READ_BYTES);
        let (requests, connection) = builder.handshake(stream).await?;
        Ok(Link { requests, connection: DrivenConnection(Some(connection)) })
    }
}

impl IdlePool {
    /// Returns the number of connections that have been idle for too long. They are the first ones
    /// in `idle`.
    fn expired_count(&self) -> usize {
        let now = Instant::now();
        self.idle.partition_point(|idle| now.saturating_duration_since(idle.since) >= IDLE_TIME)
    }
}

impl Link {
    async fn send(
        mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, Self), hyper::Error> {
        let Self { requests, connection } = &mut self;
        connection.wait_for(requests.ready()).await?;
        let response = connection.wait_for(requests.send_request(request)).await?;
        Ok((response, self))
    }
}

impl DrivenConnection {
    async fn wait_for<T>(&mut self, outcome: impl Future<Output = T>) -> T {
        let mut outcome = pin!(outcome);
        poll_fn(|cx| self.poll_for(cx, |cx| outcome.as_mut().poll(cx))).await
    }

    /// Polls `outcome`, which depends on the connection. While it is pending, also drives the
    /// connection. Once the connection has ended, an outcome that was pending becomes an error.
    fn poll_for<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut outcome: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let before = outcome(cx);
        match &mut self.0 {
            Some(connection) if before.is_pending() => {
                if Pin::new(connection).poll(cx).is_ready() {
                    self.0 = None;
                }
                outcome(cx)
            }
            _ => before,
        }
    }
}

/// Body of a response. Dropping it closes its connection, unless the body was read to the end.
pub(crate) struct AnswerBody {
    body: Incoming,
    /// Connection; `None` after the end of the body.
    link: Option<Link>,
    server: Authority,
    kept: Arc<Mutex<IdlePool>>,
}

impl AnswerBody {
    /// Keeps the connection for later requests, if it is still usable.
    fn keep(&mut self) {
        // A server may have answered before it read the whole request.
        let is_fit = |link: &Link| link.connection.0.is_some() && link.requests.is_ready();
        let Some(link) = self.link.take().filter(is_fit) else { return };
        let mut kept = self.kept.lock();
        kept.idle.push(Idle { server: self.server.clone(), since: Instant::now(), link });
        if !replace(&mut kept.is_watched, true) {
            spawn(end_idle(Arc::downgrade(&self.kept)));
        }
    }
}

/// Closes connections that stay idle, until no idle connection is left.
async fn end_idle(kept: Weak<Mutex<IdlePool>>) {
    loop {
        sleep(IDLE_TIME).await;
        let Some(kept) = kept.upgrade() else { return };
        let (old, is_last) = {
            let mut kept = kept.lock();
            let old = kept.expired_count();
            let old: Vec<_> = kept.idle.drain(..old).collect();
            kept.is_watched = !kept.idle.is_empty();
            (old, !kept.is_watched)
        };
        for link in old {
            drop(link);
            // Other tasks run in between: streams in progress do not wait until all connections are
            // closed.
            yield_now().await;
        }
        if is_last {
            return;
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        let mut next = |cx: &mut Context<'_>| Pin::new(&mut this.body).poll_frame(cx);
        let next = match &mut this.link {
            Some(link) => link.connection.poll_for(cx, next),
            None => next(cx),
        };
        if matches!(next, Poll::Ready(None)) {
            this.keep();
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

pub(super) type Failure = Box<dyn Error + Send + Sync>;

pub(super) type Pool = legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Maximum idle time of a connection. Servers close connections that are idle for 5 s (uvicorn,
/// llama.cpp), and a request over one that is just being closed would be lost.
pub(super) const IDLE_TIME: Duration = Duration::from_secs(2);

/// Creates a pool that keeps connections for later requests.
pub(super) fn kept(tls: &ClientTls, version: Version) -> Pool {
    builder(version).build(connector(tls, version))
}

/// Creates a pool with a new connection for each request.
pub(super) fn fresh(tls: &ClientTls, version: Version) -> Pool {
    builder(version).pool_max_idle_per_host(0).build(connector(tls, version))
}

fn builder(version: Version) -> legacy::Builder {
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIME);
    builder.http2_only(version == Version::Two);
    builder
}

/// Returns true if the server closed the connection before it began to answer.
pub(super) fn was_closed(error: &(dyn Error + 'static)) -> bool {
    let mut causes = iter::successors(Some(error), |cause| (*cause).source());
    causes.any(|cause| {
        let of_http = cause.downcast_ref::<hyper::Error>();
        let of_system = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let is_over = |error: &hyper::Error| {
            error.is_incomplete_message() || error.is_closed() || error.is_canceled()
        };
        of_http.is_some_and(is_over)
            || matches!(of_system, Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe))
    })
}
