//! HTTP to the serving engines: connections that are kept, and what a server says before its first event.

use std::{
    error::Error as _,
    io::{self, ErrorKind},
    iter,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};

use crate::{
    engine::openai::{
        events::causes,
        fault::{blames_prompt, refusal, short},
    },
    settings::openai::OpenaiConfig,
};

/// Longest time until a connection stands.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Servers close connections that are idle for 5 s (uvicorn, llama.cpp). One that is closed just then would lose a request.
const IDLE_TIME: Duration = Duration::from_secs(2);

/// Longest text of a refusal.
const MOST_REFUSAL_BYTES: usize = 64 << 10;

/// Longest page of metrics.
const MOST_METRICS_BYTES: usize = 16 << 20;

/// Time until a request is tried again, where the server names none.
const PAUSE: Duration = Duration::from_millis(500);

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Refused {
    /// The server has too much to do.
    Busy {
        /// How long it wants to be left alone.
        pause: Duration,
        /// What it says.
        why: String,
    },
    /// The prompt is to blame.
    BadSample(String),
    /// Anything else.
    Failed(String),
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

type Http = legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

pub(super) struct Client {
    /// Keeps connections.
    kept: Http,
    /// Makes a connection for each request.
    fresh: Http,
    token: Option<HeaderValue>,
}

impl Client {
    pub(super) fn new(settings: &OpenaiConfig) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIME));
        tcp.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(settings.tls.clone().into_config())
            .https_or_http()
            .enable_http1()
            .enable_http2()
            .wrap_connector(tcp);
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIME);
        let kept = builder.build(connector.clone());
        let fresh = builder.pool_max_idle_per_host(0).build(connector);
        Self { kept, fresh, token: settings.token.clone() }
    }

    /// Sends a request, and waits until its answer begins: events will follow.
    pub(super) async fn post(&self, url: Uri, body: Bytes) -> Result<Response<Incoming>, Refused> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = url;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        let response = self.send(request).await?;
        let (status, headers) = (response.status(), response.headers());
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or("no content-type").to_owned();
        if status == StatusCode::OK && kind.starts_with("text/event-stream") {
            return Ok(response);
        }
        let pause = pause(headers);
        let body = text(response, MOST_REFUSAL_BYTES).await.unwrap_or_default();
        if status == StatusCode::OK {
            let begin = short(&body);
            return Err(Refused::Failed(format!("no stream of events, but {kind}: {begin}")));
        }
        let why = format!("status {status}: {}", refusal(&body));
        Err(match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                Refused::Busy { pause, why }
            }
            _ if blames_prompt(status.as_u16(), &body) => Refused::BadSample(why),
            _ => Refused::Failed(why),
        })
    }

    /// The text of a page.
    pub(super) async fn page(&self, url: Uri) -> Result<String, String> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = url;
        let response = self.send(request).await?;
        match response.status() {
            StatusCode::OK => text(response, MOST_METRICS_BYTES).await,
            status => Err(format!("status {status}")),
        }
    }

    async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
        if let Some(token) = &self.token {
            request.headers_mut().insert(header::AUTHORIZATION, token.clone());
        }
        // llama.cpp closes connections after an answer, though it says that it keeps them.
        let response = match self.kept.request(request.clone()).await {
            Err(error) if was_closed(&error) => self.fresh.request(request).await,
            response => response,
        };
        response.map_err(|error| format!("no answer: {}", causes(&error)))
    }
}

/// Whether the server closed the connection before it began to answer.
fn was_closed(error: &legacy::Error) -> bool {
    let mut causes = iter::successors(error.source(), |cause| (*cause).source());
    causes.any(|cause| {
        let of_http = cause.downcast_ref::<hyper::Error>();
        let of_system = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        of_http.is_some_and(hyper::Error::is_incomplete_message)
            || matches!(of_system, Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe))
    })
}

async fn text(response: Response<Incoming>, most_bytes: usize) -> Result<String, String> {
    let body = Limited::new(response.into_body(), most_bytes).collect().await;
    let bytes = body.map_err(|error| error.to_string())?.to_bytes();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// How long a server wants to be left alone.
fn pause(headers: &HeaderMap) -> Duration {
    let said = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let seconds = said.and_then(|text| text.trim().parse().ok());
    seconds.map_or(PAUSE, Duration::from_secs)
}
