//! The servers behind a node: a connection to each, which is made again when it is lost, and how many requests are under way.

use std::{
    error::Error as _,
    fmt, iter,
    ops::Deref,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{HeaderValue, Uri};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;
use netdiv_contract::{limits, said::said};
use tonic::{
    Code, Request, Status,
    metadata::{Ascii, MetadataValue},
    transport::{Channel, Endpoint},
};

use crate::{
    engine::kserve::rpc::grpc_inference_service_client::GrpcInferenceServiceClient,
    settings::served::ServersConfig,
};

/// Longest time until a connection stands.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// A peer that is silent for so long is asked for a sign of life, by TCP; without one the connection ends.
const SILENT_TIME: Duration = Duration::from_secs(5);

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Refused {
    /// The server has too much to do, or is not there.
    Busy(String),
    /// Anything else.
    Failed(String),
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        let mut text = format!("{:?}: {}", status.code(), status.message());
        for cause in iter::successors(status.source(), |cause| (*cause).source()) {
            let cause = cause.to_string();
            if !text.contains(&cause) {
                text = format!("{text}: {cause}");
            }
        }
        match status.code() {
            Code::Unavailable | Code::ResourceExhausted => Self::Busy(said(&text)),
            _ => Self::Failed(said(&text)),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Busy(why) | Self::Failed(why)) = self;
        f.write_str(why)
    }
}

/// How many requests each has under way, of all instances.
pub(super) struct Loads(Vec<Arc<AtomicUsize>>);

impl Loads {
    pub(super) fn new(settings: &ServersConfig) -> Self {
        Self(settings.urls.iter().map(|_| Arc::default()).collect())
    }
}

/// All of them.
pub(super) struct Servers(Vec<Server>);

/// One of them.
pub(super) struct Server {
    url: Uri,
    client: GrpcInferenceServiceClient<Channel>,
    token: Option<MetadataValue<Ascii>>,
    under_way: Arc<AtomicUsize>,
    asked: AtomicU64,
}

impl Servers {
    /// Connections are made when they are needed, on the runtime that this is called on.
    pub(super) fn new(settings: &ServersConfig, loads: &Loads) -> Self {
        let server = |(url, under_way): (&Uri, &Arc<AtomicUsize>)| {
            let most_bytes = limits::MAX_MESSAGE_BYTES;
            let client = GrpcInferenceServiceClient::new(channel(url, settings));
            Server {
                url: url.clone(),
                client: client.max_decoding_message_size(most_bytes),
                token: settings.token.as_ref().and_then(metadata),
                under_way: under_way.clone(),
                asked: AtomicU64::new(0),
            }
        };
        Self(settings.urls.iter().zip(&loads.0).map(server).collect())
    }

    pub(super) fn all(&self) -> &[Server] {
        &self.0
    }

    /// The one with the fewest requests under way, with one more; not the busy one, if there is another. `None`: there is no
    /// server.
    pub(super) fn pick(&self, busy: Option<&Server>) -> Option<UnderWay<'_>> {
        let is_busy = |server: &Server| busy.is_some_and(|busy| ptr::eq(busy, server));
        let fewest = |server: &&Server| (is_busy(server), server.under_way.load(Ordering::Relaxed));
        let server = self.0.iter().min_by_key(fewest)?;
        server.under_way.fetch_add(1, Ordering::Relaxed);
        Some(UnderWay(server))
    }
}

fn channel(url: &Uri, settings: &ServersConfig) -> Channel {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIME));
    tcp.set_keepalive(Some(SILENT_TIME));
    tcp.set_tcp_user_timeout(Some(2 * SILENT_TIME));
    tcp.enforce_http(false);
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(settings.tls.clone().into_config())
        .https_or_http()
        .enable_http2()
        .wrap_connector(tcp);
    Endpoint::from(url.clone()).connect_with_connector_lazy(connector)
}

fn metadata(header: &HeaderValue) -> Option<MetadataValue<Ascii>> {
    let mut value = MetadataValue::try_from(header.as_bytes()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl Server {
    /// To be called; clones share the connection.
    pub(super) fn client(&self) -> GrpcInferenceServiceClient<Channel> {
        self.client.clone()
    }

    /// A call with that message or stream of messages.
    pub(super) fn call<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        request
    }

    /// A name for the next request.
    pub(super) fn next_id(&self) -> String {
        self.asked.fetch_add(1, Ordering::Relaxed).to_string()
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.to_string().trim_end_matches('/'))
    }
}

/// A server with a request that is under way until this is dropped.
pub(super) struct UnderWay<'a>(&'a Server);

impl Deref for UnderWay<'_> {
    type Target = Server;

    fn deref(&self) -> &Server {
        self.0
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}
