//! Connections over HTTP/1.1 without TLS. The task that waits for an answer drives its connection, so that no token goes from
//! one task to another.

use std::{
    future::poll_fn,
    mem::replace,
    pin::{Pin, pin},
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::Instant,
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
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use parking_lot::Mutex;
use tokio::{net::TcpStream, spawn, task::yield_now, time::sleep};
use tower::ServiceExt as _;

use crate::engine::{
    remote::connector::plain,
    served::connections::{Failure, IDLE_TIME, was_closed},
};

/// Most that is read at once, and the longest head of an answer, in bytes. Longer buffers would be new memory of the system's each
/// time; where tokens come one by one they are shorter by themselves.
const READ_BYTES: usize = 64 << 10;

/// Makes connections, and keeps those whose answers were read to their ends.
pub(super) struct Links {
    connector: HttpConnector,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    /// Those that have been idle for longest come first.
    idle: Vec<Idle>,
    /// Whether a task ends those that nobody needs.
    is_watched: bool,
}

struct Idle {
    server: Authority,
    since: Instant,
    link: Link,
}

/// A connection, and what sends requests over it.
struct Link {
    requests: SendRequest<Full<Bytes>>,
    connection: Driven,
}

/// `None` once it has ended.
struct Driven(Option<Connection<TokioIo<TcpStream>, Full<Bytes>>>);

impl Links {
    pub(super) fn new() -> Self {
        Self { connector: plain(), kept: Arc::default() }
    }

    /// Sends a request to where its URL says, and waits until the answer begins.
    pub(super) async fn request(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<AnswerBody>, Failure> {
        let url = request.uri().clone();
        let server = url.authority().ok_or("the URL has no host")?;
        request.headers_mut().insert(header::HOST, HeaderValue::from_str(server.as_str())?);
        *request.uri_mut() = url.path_and_query().map_or("/", PathAndQuery::as_str).parse()?;
        let answered = match self.kept(server) {
            Some(link) => match link.send(request.clone()).await {
                // llama.cpp closes connections after an answer, though it says that it keeps them.
                Err(error) if was_closed(&error) => None,
                answered => Some(answered?),
            },
            None => None,
        };
        let (response, link) = match answered {
            Some(answered) => answered,
            None => self.fresh(&url).await?.send(request).await?,
        };
        let (server, kept) = (server.clone(), self.kept.clone());
        Ok(response.map(|body| AnswerBody { body, link: Some(link), server, kept }))
    }

    fn kept(&self, server: &Authority) -> Option<Link> {
        let mut kept = self.kept.lock();
        let old = kept.old();
        let latest = kept.idle[old..].iter().rposition(|idle| idle.server == *server);
        latest.map(|place| kept.idle.remove(old + place).link)
    }

    async fn fresh(&self, url: &Uri) -> Result<Link, Failure> {
        let stream = self.connector.clone().oneshot(url.clone()).await?;
        let mut builder = Builder::new();
        builder.max_buf_size(READ_BYTES);
        let (requests, connection) = builder.handshake(stream).await?;
        Ok(Link { requests, connection: Driven(Some(connection)) })
    }
}

impl Kept {
    /// How many have been idle for too long; they come first.
    fn old(&self) -> usize {
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

impl Driven {
    async fn wait_for<T>(&mut self, outcome: impl Future<Output = T>) -> T {
        let mut outcome = pin!(outcome);
        poll_fn(|cx| self.poll_for(cx, |cx| outcome.as_mut().poll(cx))).await
    }

    /// Goes on if there is no outcome yet. An outcome that a connection owes is an error once that has ended.
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

/// The body of an answer. Its connection ends with it, unless it is read to its end.
pub(crate) struct AnswerBody {
    body: Incoming,
    /// `None` after the end.
    link: Option<Link>,
    server: Authority,
    kept: Arc<Mutex<Kept>>,
}

impl AnswerBody {
    /// Keeps the connection for other requests.
    fn keep(&mut self) {
        // A server may have answered before it has read the request.
        let is_fit = |link: &Link| link.connection.0.is_some() && link.requests.is_ready();
        let Some(link) = self.link.take().filter(is_fit) else { return };
        let mut kept = self.kept.lock();
        kept.idle.push(Idle { server: self.server.clone(), since: Instant::now(), link });
        if !replace(&mut kept.is_watched, true) {
            spawn(end_idle(Arc::downgrade(&self.kept)));
        }
    }
}

/// Ends connections that nobody needs, as long as there are any.
async fn end_idle(kept: Weak<Mutex<Kept>>) {
    loop {
        sleep(IDLE_TIME).await;
        let Some(kept) = kept.upgrade() else { return };
        let (old, is_last) = {
            let mut kept = kept.lock();
            let old = kept.old();
            let old: Vec<_> = kept.idle.drain(..old).collect();
            kept.is_watched = !kept.idle.is_empty();
            (old, !kept.is_watched)
        };
        for link in old {
            drop(link);
            // Streams that are read meanwhile do not wait for all of them.
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
