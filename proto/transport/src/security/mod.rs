//! Authentication and encryption: TLS 1.3 by rustls, a token for closed labs, and plaintext where it is asked for.

mod certificates;
mod error;
mod plaintext;
mod tls;
mod token;

pub use certificates::{CertificateError, make_certificates};
pub use error::SecurityError;
pub use plaintext::is_loopback;
pub(crate) use tls::server_name;
pub use tls::{ClientTls, ServerTls, TlsFiles};
pub(crate) use token::token_in;
pub use token::{ServerToken, Token};
