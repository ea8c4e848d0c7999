//! Authentication and encryption: TLS 1.3 with rustls, a token for closed labs, and plaintext where
//! it is requested.

mod certificates;
mod lifetime;
mod tls;
mod token;

pub use crate::address::is_loopback;
pub use certificates::{CertificateError, CertificateSet, make_certificates};
pub(crate) use tls::server_name;
pub use tls::{ClientTls, ServerTls, TlsFiles};
pub(crate) use token::token_in;
pub use token::{SecurityError, ServerToken, Token};
