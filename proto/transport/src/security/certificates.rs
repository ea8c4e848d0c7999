//! Certificates for a lab: an authority, a certificate for each node, and one for clients.

use std::{fs, io, os::unix::fs::OpenOptionsExt as _, path::Path};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// Why certificates could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A name that a certificate cannot have.
    #[error("cannot make a certificate for `{name}`: {error}")]
    Name {
        /// The host.
        name: String,
        /// What the library says.
        error: rcgen::Error,
    },
    /// Two files would have the same name, or one would be in another folder.
    #[error(
        "`{0}` is not a host (give it without a port), is given twice, or is a reserved name (ca, client)"
    )]
    FileName(String),
    /// A file exists already.
    #[error("{0} exists already; choose another folder, or move it away")]
    Exists(String),
    /// The library failed.
    #[error("cannot make a key or certificate: {0}")]
    Library(#[from] rcgen::Error),
    /// A file could not be written.
    #[error("cannot write {path}: {error}")]
    Write {
        /// The file.
        path: String,
        /// What the system says.
        error: io::Error,
    },
}

/// Writes `ca.pem`, `HOST.pem` and `HOST.key` for each host (a DNS name or an IP address), and `client.pem` and
/// `client.key` into a folder. Existing files are an error, before anything is written. The authority's key is not
/// kept, so nobody can add certificates.
pub fn make_certificates(folder: &Path, hosts: &[String]) -> Result<Vec<String>, CertificateError> {
    for (place, host) in hosts.iter().enumerate() {
        // `HOST:PORT` is not a host, and its certificate would be useless; but IPv6 addresses have colons too.
        let is_name = host.parse::<std::net::IpAddr>().is_ok() || !host.contains(':');
        let taken = !is_name || ["ca", "client", "", ".", ".."].contains(&host.as_str());
        if taken || host.contains('/') || hosts[..place].contains(host) {
            return Err(CertificateError::FileName(host.clone()));
        }
    }
    for name in hosts.iter().map(String::as_str).chain(["ca", "client"]) {
        for file in ["pem", "key"].map(|kind| folder.join(format!("{name}.{kind}"))) {
            if file.exists() {
                return Err(CertificateError::Exists(file.display().to_string()));
            }
        }
    }
    fs::create_dir_all(folder)
        .map_err(|error| CertificateError::Write { path: folder.display().to_string(), error })?;
    let mut authority = CertificateParams::new([])?;
    let authority_key = KeyPair::generate()?;
    // Two authorities of one name would be taken for each other, and their certificates for forged ones.
    let tag: String =
        authority_key.public_key_raw().iter().rev().take(4).map(|b| format!("{b:02x}")).collect();
    let name = format!("netdiv development authority {tag}");
    authority.distinguished_name.push(DnType::CommonName, name);
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let mut written = Vec::new();
    let mut write = |name: String, text: String, mode: u32| {
        let path = folder.join(&name);
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(mode).open(&path);
        let done = file.and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()));
        written.push(name);
        done.map_err(|error| CertificateError::Write { path: path.display().to_string(), error })
    };
    write("ca.pem".into(), authority.self_signed(&authority_key)?.pem(), 0o644)?;
    let issuer = Issuer::new(authority, authority_key);

    let node = ExtendedKeyUsagePurpose::ServerAuth;
    let nodes = hosts.iter().map(|host| (host.as_str(), vec![host.clone()], node.clone()));
    let client = ("client", Vec::new(), ExtendedKeyUsagePurpose::ClientAuth);
    for (name, subjects, purpose) in nodes.chain([client]) {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(subjects)
            .map_err(|error| CertificateError::Name { name: name.into(), error })?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![purpose];
        write(format!("{name}.pem"), params.signed_by(&key, &issuer)?.pem(), 0o644)?;
        write(format!("{name}.key"), key.serialize_pem(), 0o600)?;
    }
    Ok(written)
}
