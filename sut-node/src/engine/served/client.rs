//! Sends requests over HTTP, and reads the head of each response, before its first event.

use std::{borrow::Cow, mem, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header, uri::Scheme,
};
use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::Incoming;
use netdiv_node_common::words::PrefixCaching;

use crate::{
    engine::{
        remote::{
            connector::Version,
            refusal::{Refusal, blames_prompt, short},
            server_settings::H2C,
            servers::Server,
        },
        served::{
            connection_pool::{AnswerBody, ConnectionPool, Failure, Pool, fresh, kept, was_closed},
            dialect::{Api, Context, api, refusal},
            events::EventResponse,
            settings::ServedConfig,
        },
    },
    model::served_model::ServedModel,
};

/// Maximum length of a refusal's text, in bytes.
const MOST_REFUSAL_BYTES: usize = 64 << 10;

/// Maximum length of a page of metrics, in bytes.
const MOST_METRICS_BYTES: usize = 16 << 20;

/// Path at which all dialects report that they are ready.
const HEALTH: &str = "/health";

pub(crate) struct OpenAiClient {
    pub(crate) api: &'static Api,
    /// Rest of a request without a seed or a lower limit after its prompt, as JSON.
    rest: String,
    /// Limit of output tokens in `rest`.
    max_tokens: u32,
    /// Connections over HTTP/1.1 without TLS.
    links: ConnectionPool,
    /// Connections with TLS, which agrees on the version of HTTP.
    agreed: Pools,
    /// Connections over HTTP/2 without TLS.
    prior: Pools,
    token: Option<HeaderValue>,
}

/// Body of a response, over HTTP/1.1 without TLS or over another connection.
pub(crate) type Content = Either<AnswerBody, Incoming>;

/// Pool with connections that are kept, and pool with new connections for requests that a kept
/// connection lost.
struct Pools {
    kept: Pool,
    fresh: Pool,
}

impl OpenAiClient {
    pub(crate) fn new(settings: &ServedConfig) -> Self {
        let tls = &settings.servers.tls;
        let pools = |version| Pools { kept: kept(tls, version), fresh: fresh(tls, version) };
        let api = api(settings.dialect);
        Self {
            api,
            rest: api.rest(&settings.model, None),
            max_tokens: settings.model.max_tokens,
            links: ConnectionPool::new(),
            agreed: pools(Version::Agreed),
            prior: pools(Version::Two),
            token: settings.servers.token.clone(),
        }
    }

    /// Sends a prompt, and waits until the response begins. Returns the response, whose events
    /// follow. `model` is that of the settings, or has a lower limit of output tokens.
    pub(crate) async fn ask(
        &self,
        server: &Server,
        prompt: &[i64],
        model: &ServedModel,
        seed: Option<u32>,
    ) -> Result<EventResponse<Content>, Refusal> {
        let is_usual = seed.is_none() && model.max_tokens == self.max_tokens;
        let rest = match is_usual {
            true => Cow::Borrowed(self.rest.as_str()),
            false => Cow::Owned(self.api.rest(model, seed)),
        };
        let body = Bytes::from(self.api.request(prompt, &rest)?);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = server.url_of(self.api.path);
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        let response = self.send(request).await?;
        let (status, headers) = (response.status(), response.headers());
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or("no content-type").to_owned();
        if status == StatusCode::OK && is_stream_of_events(&kind) {
            return Ok(EventResponse::new(self.api, response.into_body()));
        }
        let pause = pause(headers);
        let body = text(response, MOST_REFUSAL_BYTES).await.unwrap_or_default();
        if status == StatusCode::OK {
            let begin = short(&body);
            return Err(Refusal::Failed(format!(
                "expected a stream of events, received {kind}: {begin}"
            )));
        }
        let why = format!("status {status}: {}", refusal(&body));
        Err(match status.as_u16() {
            429 | 503 => Refusal::Busy { pause, why },
            400 | 413 | 422 if blames_prompt(&body) => Refusal::BadSample(why),
            _ => Refusal::Failed(why),
        })
    }

    /// Fails while a server does not answer, or is still loading its model.
    pub(crate) async fn check_ready(&self, server: &Server) -> Result<(), String> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = server.url_of(HEALTH);
        let response = self.send(request).await.map_err(Refusal::into_text)?;
        match response.status() {
            StatusCode::SERVICE_UNAVAILABLE => {
                let body = text(response, MOST_REFUSAL_BYTES).await.unwrap_or_default();
                Err(format!("{HEALTH} answers 503: {}", refusal(&body)))
            }
            // Servers without this path answer, too.
            _ => Ok(()),
        }
    }

    /// Returns the state of prefix caching that a server's metrics report.
    pub(crate) async fn stated_caching(&self, server: &Server) -> PrefixCaching {
        let Some(path) = self.api.metrics else { return PrefixCaching::CannotTell };
        let Ok(page) = self.page(server.url_of(path)).await else {
            return PrefixCaching::CannotTell;
        };
        let states = |value| page.contains(&format!("enable_prefix_caching=\"{value}\""));
        match (states("True"), states("False")) {
            (true, _) => PrefixCaching::On,
            (false, true) => PrefixCaching::Off,
            (false, false) => PrefixCaching::CannotTell,
        }
    }

    /// Returns the number of tokens in a server's context, prompt and output together, if the
    /// server reports it.
    pub(crate) async fn context_tokens(&self, server: &Server) -> Option<u64> {
        let Context { path, pointer } = self.api.context.as_ref()?;
        let page = self.page(server.url_of(path)).await.ok()?;
        let page: serde_json::Value = serde_json::from_str(&page).ok()?;
        page.pointer(pointer)?.as_u64()
    }

    /// Fetches the text of a page.
    async fn page(&self, url: Uri) -> Result<String, String> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = url;
        let response = self.send(request).await.map_err(Refusal::into_text)?;
        match response.status() {
            StatusCode::OK => text(response, MOST_METRICS_BYTES).await,
            status => Err(format!("status {status}")),
        }
    }

    async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Response<Content>, Refusal> {
        if let Some(token) = &self.token {
            request.headers_mut().insert(header::AUTHORIZATION, token.clone());
        }
        let response = match request.uri().scheme_str() {
            Some(H2C) => {
                let mut parts = mem::take(request.uri_mut()).into_parts();
                parts.scheme = Some(Scheme::HTTP);
                *request.uri_mut() = Uri::from_parts(parts).map_err(|error| error.to_string())?;
                self.prior.request(request).await
            }
            Some("https") => self.agreed.request(request).await,
            _ => self.links.request(request).await.map(|response| response.map(Either::Left)),
        };
        response.map_err(|error| Refusal::from_error(error.as_ref()))
    }
}

impl Pools {
    async fn request(&self, request: Request<Full<Bytes>>) -> Result<Response<Content>, Failure> {
        let response = match self.kept.request(request.clone()).await {
            Err(error) if was_closed(&error) => self.fresh.request(request).await,
            response => response,
        };
        Ok(response?.map(Either::Right))
    }
}

/// Returns the pause that a server asks for in the header `Retry-After`, in seconds. The maximum of
/// several values counts. Invalid values are ignored.
// NOTE: a date in place of seconds is ignored, too; no serving engine sends one.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    let values = headers.get_all(header::RETRY_AFTER).into_iter();
    let texts = values.filter_map(|value| value.to_str().ok()).map(str::trim);
    let is_number =
        |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A number that overflows the type counts as its maximum.
    let seconds = |text: &str| text.parse().unwrap_or(u64::MAX);
    texts.filter(is_number).map(seconds).max().map(Duration::from_secs)
}

async fn text(response: Response<Content>, most_bytes: usize) -> Result<String, String> {
    let body = Limited::new(response.into_body(), most_bytes).collect().await;
    let bytes = body.map_err(|error| error.to_string())?.to_bytes();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns true if a content type denotes a stream of events. Media types ignore case, and may have
/// parameters.
fn is_stream_of_events(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("text/event-stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_pause_in_seconds_counts_and_garbage_does_not() {
        for (values, seconds) in [
            (&["7"][..], Some(7)),
            (&[" 7\t"], Some(7)),
            (&["0"], Some(0)),
            (&["99999999999999999999999"], Some(u64::MAX)),
            (&["1", "soon", "3", "2"], Some(3)),
            (&["", "soon", "-1", "+1", "1.5", "7 s", "0x7", "1, 2"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::RETRY_AFTER, HeaderValue::from_static(value));
            }
            assert_eq!(pause(&headers).map(|time| time.as_secs()), seconds, "{values:?}");
        }
    }
}
