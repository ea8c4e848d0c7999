//! Errors of creating certificates.

use std::io;

use netdiv_node_common::resources::remedy;

/// Error of creating certificates.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The name is not allowed in a certificate.
    #[error("cannot create a certificate for `{name}`: {error}")]
    Name {
        /// Name of the host or client.
        name: String,
        /// Error of the library.
        error: rcgen::Error,
    },
    /// Two files would have the same name, or a file would be in another folder.
    #[error(
        "`{0}` is not a valid name for a certificate: write hosts without ports and each name once; `ca` is the authority's"
    )]
    FileName(String),
    /// A file already exists.
    #[error("{0} exists already; choose another folder, or move it away")]
    Exists(String),
    /// The library failed.
    #[error("cannot create a key or certificate: {0}")]
    Library(#[from] rcgen::Error),
    /// A file could not be written.
    #[error("cannot write {path}: {error}{}", remedy(error))]
    Write {
        /// Path of the file.
        path: String,
        /// Error of the system.
        error: io::Error,
    },
    /// The lifetime is out of range.
    #[error("--valid-for must be a minute to ten years (3650d)")]
    ValidFor,
}
