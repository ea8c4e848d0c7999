//! Why certificates could not be made.

use std::io;

use netdiv_node_common::resources::remedy;

/// Why certificates could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A name that a certificate cannot have.
    #[error("cannot make a certificate for `{name}`: {error}")]
    Name {
        /// The host or client.
        name: String,
        /// What the library says.
        error: rcgen::Error,
    },
    /// Two files would have the same name, or one would be in another folder.
    #[error(
        "`{0}` is no name for a certificate: a host has no port, no name is given twice, and `ca` is the authority's"
    )]
    FileName(String),
    /// A file exists already.
    #[error("{0} exists already; choose another folder, or move it away")]
    Exists(String),
    /// The library failed.
    #[error("cannot make a key or certificate: {0}")]
    Library(#[from] rcgen::Error),
    /// A file could not be written.
    #[error("cannot write {path}: {error}{}", remedy(error))]
    Write {
        /// The file.
        path: String,
        /// What the system says.
        error: io::Error,
    },
    /// A file could not be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        error: io::Error,
    },
    /// An authority whose key was not kept.
    #[error(
        "{0} is not there: the authority's key was not kept, so nobody can add certificates; make a new authority with --keep-authority, \
         and new certificates for all"
    )]
    NoKey(String),
    /// Others could sign with the authority's key.
    #[error(
        "{0} can be read by other users; chmod 600 it, or make a new authority if somebody has read it"
    )]
    OpenKey(String),
    /// The authority cannot sign.
    #[error("{path} cannot sign certificates: {why}")]
    NoAuthority {
        /// The authority's certificate or key.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A certificate would outlive its authority, or has a lifetime that nobody means.
    #[error("--valid-for {0}")]
    ValidFor(String),
    /// A request that is not signed.
    #[error("{path} is refused: {why}")]
    Request {
        /// The request.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The folder holds another authority's certificate.
    #[error("{0} is of another authority than the one that signs; choose another folder")]
    OtherAuthority(String),
}
