//! Certificates from files, and what rustls makes of them. TLS 1.3 only, one crypto provider (ring).

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls13_signature},
    pki_types::{
        CertificateDer, PrivateKeyDer, ServerName, UnixTime,
        pem::{self, PemObject as _},
    },
    server::WebPkiClientVerifier,
    version::TLS13,
};

/// Files of one end.
#[derive(Debug, Clone, Default)]
pub struct TlsFiles {
    /// Certificates of those who may vouch for the peer, in PEM.
    pub ca: Option<PathBuf>,
    /// Own certificate and its chain, in PEM.
    pub certificate: Option<PathBuf>,
    /// Own private key, in PEM.
    pub key: Option<PathBuf>,
}

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
    /// A file does not hold what it should.
    #[error("{path} holds no {what} in PEM format: {why}")]
    NotPem {
        /// The file.
        path: String,
        /// What was looked for.
        what: &'static str,
        /// What the reader says.
        why: String,
    },
    /// Only one of the pair was given.
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
    /// Not a token.
    #[error("{0} holds no token: write one line of at least 16 letters, digits or signs")]
    BadToken(String),
}

/// Ciphers in order of preference. With AES in hardware, 128 bits are as safe here as 256 and cost less.
fn provider() -> Arc<CryptoProvider> {
    use ring::cipher_suite::{
        TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
    };
    let cipher_suites =
        vec![TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256];
    Arc::new(CryptoProvider { cipher_suites, ..ring::default_provider() })
}

/// What a node shows and demands. The files can be read again while it runs.
#[derive(Debug)]
pub struct ServerTls {
    files: Option<TlsFiles>,
    current: RwLock<ServerConfig>,
}

impl ServerTls {
    /// Certificate and key, and, where `ca` is set, the demand that clients have a certificate of that authority.
    pub fn load(files: TlsFiles) -> Result<Self, SecurityError> {
        let current = RwLock::new(server_config(&files)?);
        Ok(Self { files: Some(files), current })
    }

    /// A certificate that was made this moment and that nobody can check, for QUIC, which has no plaintext.
    pub(crate) fn unproven() -> Result<Self, SecurityError> {
        let unusable =
            |why: String| SecurityError::Unusable { path: "a new certificate".into(), why };
        let made = rcgen::generate_simple_self_signed(["netdiv".to_owned()])
            .map_err(|error| unusable(error.to_string()))?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())
            .map_err(|error| unusable(error.into()))?;
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unusable(error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .map_err(|error| unusable(error.to_string()))?;
        Ok(Self { files: None, current: RwLock::new(config) })
    }

    /// Reads the files again; what was read before stays in use when that fails. For connections to come.
    pub fn reload(&self) -> Result<(), SecurityError> {
        if let Some(files) = &self.files {
            let new = server_config(files)?;
            *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        }
        Ok(())
    }

    /// The configuration for one protocol.
    pub(crate) fn config(&self, alpn: &[u8]) -> ServerConfig {
        let mut config = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        config.alpn_protocols = vec![alpn.to_vec()];
        config
    }
}

fn server_config(files: &TlsFiles) -> Result<ServerConfig, SecurityError> {
    let (Some(certificate), Some(key)) = (&files.certificate, &files.key) else {
        return Err(SecurityError::HalfAPair);
    };
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| unusable(certificate, error))?;
    let builder = match &files.ca {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots(ca)?), provider())
                    .build()
                    .map_err(|error| unusable(ca, error))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    builder
        .with_single_cert(certificates(certificate)?, private_key(key)?)
        .map_err(|error| unusable(certificate, error))
}

/// Whom a client trusts, and what it shows.
#[derive(Debug, Clone)]
pub struct ClientTls(ClientConfig);

impl ClientTls {
    /// Nodes must have a certificate of the authority `ca`; certificate and key are the client's own, where nodes
    /// demand them.
    pub fn load(files: &TlsFiles) -> Result<Self, SecurityError> {
        let Some(ca) = &files.ca else { return Err(SecurityError::HalfAPair) };
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unusable(ca, error))?
            .with_root_certificates(roots(ca)?);
        Ok(Self(match (&files.certificate, &files.key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => builder
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|error| unusable(certificate, error))?,
            _ => return Err(SecurityError::HalfAPair),
        }))
    }

    /// Takes any certificate: encrypted, and no proof of who the node is. For QUIC, which has no plaintext.
    pub(crate) fn trusting() -> Result<Self, SecurityError> {
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unusable(Path::new("TLS"), error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider())))
            .with_no_client_auth();
        Ok(Self(config))
    }

    /// The configuration for one protocol.
    pub(crate) fn config(&self, alpn: &[u8]) -> ClientConfig {
        let mut config = self.0.clone();
        config.alpn_protocols = vec![alpn.to_vec()];
        config
    }
}

/// The name that a node's certificate must bear.
pub(crate) fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let named = ServerName::try_from(host.to_owned());
    named.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

fn unusable(path: &Path, error: impl std::fmt::Display) -> SecurityError {
    SecurityError::Unusable { path: path.display().to_string(), why: error.to_string() }
}

fn not_pem(path: &Path, what: &'static str, error: pem::Error) -> SecurityError {
    let path = path.display().to_string();
    match error {
        pem::Error::Io(error) => SecurityError::Unreadable { path, error },
        error => SecurityError::NotPem { path, what, why: error.to_string() },
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, SecurityError> {
    let not_pem = |error| not_pem(path, "certificate", error);
    let found: Vec<_> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(not_pem)?;
    if found.is_empty() {
        return Err(not_pem(pem::Error::NoItemsFound));
    }
    Ok(found)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, SecurityError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| not_pem(path, "private key", error))
}

fn roots(path: &Path) -> Result<RootCertStore, SecurityError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(path)? {
        store.add(certificate).map_err(|error| unusable(path, error))?;
    }
    Ok(store)
}

/// Believes everybody; signatures are still checked, so that the handshake is a whole one.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 is not spoken".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
