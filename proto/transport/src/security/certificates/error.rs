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
    /// A file could not be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// Error of the system.
        error: io::Error,
    },
    /// The authority's key was not kept.
    #[error(
        "{0} is missing: the authority's key was not kept, so no certificate can be added; create a new authority with \
         --keep-authority, and new certificates for all nodes and clients"
    )]
    NoKey(String),
    /// Other users could sign with the authority's key.
    #[error(
        "{0} can be read by other users; chmod 600 it, or create a new authority if another user has read it"
    )]
    OpenKey(String),
    /// The certificate or the key of the authority is missing or unusable, so it cannot sign.
    #[error("{path} cannot sign certificates: {why}")]
    NoAuthority {
        /// Path of the authority's certificate or key.
        path: String,
        /// Fault of the certificate or key.
        why: String,
    },
    /// A certificate would outlive its authority, or its lifetime is out of range.
    #[error("--valid-for {0}")]
    ValidFor(String),
    /// A request cannot be signed.
    #[error("{path} is refused: {why}")]
    Request {
        /// Path of the request.
        path: String,
        /// Fault of the request.
        why: String,
    },
    /// The folder holds another authority's certificate.
    #[error(
        "{0} is the certificate of another authority than the one that signs; choose another folder"
    )]
    OtherAuthority(String),
}
