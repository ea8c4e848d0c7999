//! How connections to servers are made.

use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use netdiv_transport::security::ClientTls;

/// Longest time until a connection stands.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// A peer that is silent for so long is asked for a sign of life, by TCP; without one the connection ends.
const SILENT_TIME: Duration = Duration::from_secs(5);

/// Which version of HTTP is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// HTTP/2 where TLS agrees on it, else HTTP/1.1.
    Agreed,
    /// HTTP/2 alone.
    Two,
}

/// Makes connections without TLS.
pub(crate) fn plain() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIME));
    tcp.set_keepalive(Some(SILENT_TIME));
    tcp.set_tcp_user_timeout(Some(2 * SILENT_TIME));
    tcp.enforce_http(false);
    tcp
}

/// Makes connections that trust so.
pub(crate) fn connector(tls: &ClientTls, version: Version) -> HttpsConnector<HttpConnector> {
    let tcp = plain();
    let tls = tls.clone().into_config();
    let builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    match version {
        Version::Agreed => builder.enable_http1().enable_http2().wrap_connector(tcp),
        Version::Two => builder.enable_http2().wrap_connector(tcp),
    }
}
