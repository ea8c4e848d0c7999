//! Why certificates, keys and tokens cannot be used.

use std::io;

/// Why the files or settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecurityError {
    /// A file cannot be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        error: io::Error,
    },
    /// A file has other content.
    #[error("{path} holds no {what} in PEM format: {why}")]
    NotPem {
        /// The file.
        path: String,
        /// The expected content.
        what: &'static str,
        /// What the reader says.
        why: String,
    },
    /// Only one file of the pair was given.
    #[error("a certificate needs its key and a key its certificate; give both files")]
    HalfAPair,
    /// A certificate, its key or the authority cannot be used.
    #[error("{path} cannot be used: {why}")]
    Unusable {
        /// The file.
        path: String,
        /// What TLS says.
        why: String,
    },
    /// The file holds no token.
    #[error("{0} holds no token: write one line of at least 16 letters, digits or signs")]
    BadToken(String),
}
