//! Errors of certificates, keys and tokens.

use std::io;

/// Error of certificates, keys or tokens.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum SecurityError {
    /// A file cannot be read.
    #[error("cannot read {path}: {error}")]
    Unreadable { path: String, error: io::Error },
    /// A file does not have the expected content.
    #[error("{path} holds no {what} in PEM format: {why}")]
    NotPem {
        path: String,
        /// Expected content, such as `certificate`.
        what: &'static str,
        why: String,
    },
    /// A client has no authority to verify nodes with.
    #[error("TLS needs the authority that signed the nodes' certificates; give --tls-ca")]
    NoAuthority,
    /// A certificate or its key is needed and not configured.
    #[error("a certificate needs its key and a key its certificate; give both files")]
    HalfAPair,
    /// A certificate, its key or the authority cannot be used.
    #[error("{path} cannot be used: {why}")]
    Unusable { path: String, why: String },
    /// The file does not contain a token.
    #[error("{0} holds no token: write one line of at least 16 letters, digits or symbols")]
    BadToken(String),
}
