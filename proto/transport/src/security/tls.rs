//! TLS of both ends, configured from files: TLS 1.3 only, with one crypto provider (ring).

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use netdiv_node_common::resources::files;
use parking_lot::RwLock;
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

use tracing::warn;

use super::{lifetime::Lifetime, token::SecurityError};

/// Time before the expiry of a certificate from which its user is warned.
const NOTICE: Duration = Duration::from_secs(14 * 86_400);

/// Paths of the TLS files of one program, a client or a node.
#[derive(Debug, Clone, Default)]
pub struct TlsFiles {
    /// Certificates of the authorities that sign the peer's certificate, in PEM.
    pub ca: Option<PathBuf>,
    /// Certificate of this program and its chain, in PEM.
    pub certificate: Option<PathBuf>,
    /// Private key of this program's certificate, in PEM.
    pub key: Option<PathBuf>,
}

/// Returns the crypto provider, with its ciphers in the order of preference. With AES in hardware,
/// keys of 128 bits cost less than keys of 256 bits, and are as safe here.
fn provider() -> Arc<CryptoProvider> {
    use ring::cipher_suite::{
        TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
    };
    let cipher_suites =
        vec![TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256];
    Arc::new(CryptoProvider { cipher_suites, ..ring::default_provider() })
}

/// TLS settings of a node: its certificate, and the authority whose certificates it requires of
/// clients, if any. The files can be reloaded while the node runs.
#[derive(Debug)]
pub struct ServerTls {
    files: Option<TlsFiles>,
    current: RwLock<ServerConfig>,
}

impl ServerTls {
    /// Reads the certificate and key of a node. With `ca`, clients must have a certificate that
    /// this authority has signed.
    pub fn load(files: TlsFiles) -> Result<Self, SecurityError> {
        let current = RwLock::new(server_config(&files)?);
        Ok(Self { files: Some(files), current })
    }

    /// Creates a new self-signed certificate, which proves no identity. For QUIC, which has no
    /// plaintext.
    pub(crate) fn unproven() -> Result<Self, SecurityError> {
        let unusable = |why: String| unusable(Path::new("a new certificate"), why);
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

    /// Reloads the files for new connections. If that fails, the old files stay in use.
    pub fn reload(&self) -> Result<(), SecurityError> {
        if let Some(files) = &self.files {
            let new = server_config(files)?;
            *self.current.write() = new;
        }
        Ok(())
    }

    /// Returns the configuration for the protocol `alpn`.
    pub(crate) fn config(&self, alpn: &[u8]) -> ServerConfig {
        let mut config = self.current.read().clone();
        config.alpn_protocols = vec![alpn.to_vec()];
        config
    }
}

fn server_config(files: &TlsFiles) -> Result<ServerConfig, SecurityError> {
    let (Some(certificate), Some(key)) = (&files.certificate, &files.key) else {
        return Err(half_a_pair());
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
        .with_single_cert(own_certificates(certificate)?, private_key(key)?)
        .map_err(|error| unusable(certificate, error))
}

/// TLS settings of a client: the authority that it trusts, and its own certificate, if it has one.
#[derive(Debug, Clone)]
pub struct ClientTls(ClientConfig);

impl ClientTls {
    /// Reads the files of a client. Nodes must have a certificate that the authority `ca` has
    /// signed. The client's own certificate and key are optional; some nodes require them.
    pub fn load(files: &TlsFiles) -> Result<Self, SecurityError> {
        let Some(ca) = &files.ca else {
            let why = "TLS needs the authority that signed the nodes' certificates; give --tls-ca";
            return Err(SecurityError(why.into()));
        };
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unusable(ca, error))?
            .with_root_certificates(roots(ca)?);
        Ok(Self(match (&files.certificate, &files.key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => builder
                .with_client_auth_cert(own_certificates(certificate)?, private_key(key)?)
                .map_err(|error| unusable(certificate, error))?,
            _ => return Err(half_a_pair()),
        }))
    }

    /// Creates settings that accept any certificate: the connection is encrypted, but the node is
    /// not authenticated. For QUIC, which has no plaintext.
    pub(crate) fn trusting() -> Result<Self, SecurityError> {
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unusable(Path::new("TLS"), error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider())))
            .with_no_client_auth();
        Ok(Self(config))
    }

    /// Creates settings that require servers to have a certificate that the authority `ca` has
    /// signed.
    pub fn trusting_authority(ca: &Path) -> Result<Self, SecurityError> {
        Self::load(&TlsFiles { ca: Some(ca.to_path_buf()), ..TlsFiles::default() })
    }

    /// Creates settings that trust no authority, for a client whose servers all use plaintext.
    pub fn without_authority() -> Result<Self, SecurityError> {
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unusable(Path::new("TLS"), error))?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        Ok(Self(config))
    }

    /// Returns the rustls configuration without a protocol, for a client that chooses the protocol
    /// itself.
    pub fn into_config(self) -> ClientConfig {
        self.0
    }

    /// Returns the configuration for the protocol `alpn`.
    pub(crate) fn config(&self, alpn: &[u8]) -> ClientConfig {
        let mut config = self.0.clone();
        config.alpn_protocols = vec![alpn.to_vec()];
        config
    }
}

/// Converts a host to the name that the node's certificate must have. An IPv6 address may have
/// brackets.
pub(crate) fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let named = ServerName::try_from(host.to_owned());
    named.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

fn unusable(path: &Path, error: impl std::fmt::Display) -> SecurityError {
    SecurityError(format!("{} cannot be used: {error}", path.display()))
}

fn half_a_pair() -> SecurityError {
    let why = "a certificate needs its key and a key its certificate; give both files";
    SecurityError(why.into())
}

fn not_pem(path: &Path, what: &'static str, error: pem::Error) -> SecurityError {
    match error {
        pem::Error::Io(error) => SecurityError::unreadable(path, &error),
        error => {
            SecurityError(format!("{} holds no {what} in PEM format: {error}", path.display()))
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, SecurityError> {
    let not_pem = |error| not_pem(path, "certificate", error);
    let text = files::read_text(path).map_err(|error| not_pem(pem::Error::Io(error)))?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(text.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(not_pem)?;
    if found.is_empty() {
        return Err(not_pem(pem::Error::NoItemsFound));
    }
    Ok(found)
}

/// Reads the certificate of this program and its chain. Fails if the certificate is not valid now:
/// a peer would refuse it too, but with a shorter message.
fn own_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, SecurityError> {
    let chain = certificates(path)?;
    // If the certificate cannot be parsed here, TLS checks it later.
    if let Some(Ok(lifetime)) = chain.first().map(Lifetime::of) {
        if let Some(fault) = lifetime.fault() {
            return Err(unusable(path, fault));
        }
        if lifetime.ends_within(NOTICE) {
            warn!("{} expires on {lifetime}; replace it before then", path.display());
        }
    }
    Ok(chain)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, SecurityError> {
    let not_pem = |error| not_pem(path, "private key", error);
    let text = files::read_text(path).map_err(|error| not_pem(pem::Error::Io(error)))?;
    refuse_encrypted(&text).map_err(|why| unusable(path, why))?;
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(not_pem)
}

/// Fails if a private key in PEM format is encrypted, in PKCS #8 or in the older form with a
/// header.
fn refuse_encrypted(key: &str) -> Result<(), &'static str> {
    let marks = ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"];
    if marks.iter().any(|mark| key.contains(mark)) {
        return Err(
            "the key is encrypted, and encrypted keys are not supported: decrypt it into a file of mode 600, \
             such as with `openssl pkey -in KEY -out PLAIN`",
        );
    }
    Ok(())
}

fn roots(path: &Path) -> Result<RootCertStore, SecurityError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(path)? {
        // TLS ignores the lifetime of an authority; other programs check it.
        if let Ok(lifetime) = Lifetime::of(&certificate)
            && lifetime.ends_within(NOTICE)
        {
            warn!(
                "the authority in {} expires on {lifetime}; replace it before then",
                path.display()
            );
        }
        store.add(certificate).map_err(|error| unusable(path, error))?;
    }
    Ok(store)
}

/// Verifier that accepts every certificate. Signatures are still checked, as in any handshake.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
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
        Err(rustls::Error::General("TLS 1.2 is not supported".into()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encrypted_key_is_reported_as_encrypted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node.key");
        for text in [
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n\
             -----END RSA PRIVATE KEY-----\n",
            "-----BEGIN EC PRIVATE KEY-----\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-256-CBC,00\r\n\r\nAAAA\r\n\
             -----END EC PRIVATE KEY-----\r\n",
        ] {
            std::fs::write(&path, text).unwrap();
            let error = private_key(&path).unwrap_err().to_string();
            assert!(
                error.contains("the key is encrypted") && error.contains("openssl pkey"),
                "{error}"
            );
        }
        std::fs::write(&path, "no key\n").unwrap();
        assert!(!private_key(&path).unwrap_err().to_string().contains("encrypted"));
    }
}
