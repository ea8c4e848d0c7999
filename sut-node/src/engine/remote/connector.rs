//! Connectors, which open connections to servers.

use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use netdiv_transport::security::ClientTls;

/// Maximum time to establish a connection.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Time of silence after which TCP probes a peer. Without an acknowledgement for twice this time,
/// the connection ends.
const SILENT_TIME: Duration = Duration::from_secs(5);

/// Choice of the version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// HTTP/2 where TLS agrees on it, else HTTP/1.1.
    Agreed,
    /// HTTP/2 only.
    Two,
}

/// Creates a connector without TLS.
pub(crate) fn plain() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIME));
    tcp.set_keepalive(Some(SILENT_TIME));
    tcp.set_tcp_user_timeout(Some(2 * SILENT_TIME));
    tcp.enforce_http(false);
    tcp
}

pub(crate) fn connector(tls: &ClientTls, version: Version) -> HttpsConnector<HttpConnector> {
    let tcp = plain();
    let tls = tls.clone().into_config();
    let builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    match version {
        Version::Agreed => builder.enable_http1().enable_http2().wrap_connector(tcp),
        Version::Two => builder.enable_http2().wrap_connector(tcp),
    }
}
