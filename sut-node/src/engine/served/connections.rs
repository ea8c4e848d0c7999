//! Pools of connections to serving engines, over HTTP/1.1 and HTTP/2.

use std::{
    error::Error,
    io::{self, ErrorKind},
    iter,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use netdiv_transport::security::ClientTls;

use crate::engine::remote::connector::{Version, connector};

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
