//! Who may talk to whom: TLS 1.3 by rustls, a token for closed labs, and plaintext where it is asked for.

mod certificates;
mod tls;
mod token;

pub use certificates::{CertificateError, make_certificates};
pub(crate) use tls::server_name;
pub use tls::{ClientTls, SecurityError, ServerTls, TlsFiles};
pub use token::{ServerToken, Token};

/// Whether an address, `HOST:PORT`, can only be this machine.
pub fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// What a caller without the token is told.
pub(crate) const WRONG_TOKEN: &str =
    "the token is missing or wrong; give --token-file with this node's token";
