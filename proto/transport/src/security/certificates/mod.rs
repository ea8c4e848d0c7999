//! Certificates for a lab: an authority, a certificate for each node, and one for each client.

mod folder;
#[cfg(test)]
mod tests;

use std::{net::IpAddr, path::Path, time::Duration};

pub use folder::CertificateError;
use folder::Folder;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use super::lifetime::{LONGEST, Lifetime};

/// Certificates to make for a lab, and their new authority.
#[derive(Debug)]
pub struct CertificateSet {
    /// DNS names or IP addresses at which clients reach the nodes.
    pub hosts: Vec<String>,
    /// Names of the clients.
    pub clients: Vec<String>,
    /// Lifetime of the certificates, from a minute to ten years.
    pub valid_for: Duration,
    /// Set if the authority's key is kept (`ca.key`), so that openssl can sign more certificates.
    /// The authority is then valid for ten years.
    pub keep_authority: bool,
}

/// Creates certificates of a new authority for these hosts and for the client `client`, as
/// [`CertificateSet::write`] does.
pub fn make_certificates(folder: &Path, hosts: &[String]) -> Result<Vec<String>, CertificateError> {
    let set = CertificateSet {
        hosts: hosts.to_vec(),
        clients: vec!["client".into()],
        valid_for: LONGEST,
        keep_authority: false,
    };
    set.write(folder)
}

impl CertificateSet {
    /// Writes the authority's certificate (`ca.pem`), and a certificate (`NAME.pem`) and its key
    /// (`NAME.key`) for each host and client, into the folder. Returns the names of the files. If a
    /// file exists already, fails without writing any file.
    pub fn write(&self, folder: &Path) -> Result<Vec<String>, CertificateError> {
        let lifetime = lifetime(self.valid_for)?;
        let mut folder = Folder::new(folder);
        let issuer = self.add_authority(&mut folder)?;
        for (name, purpose) in self.subjects()? {
            let is_node = purpose == ExtendedKeyUsagePurpose::ServerAuth;
            let reached_by = if is_node { vec![name.clone()] } else { Vec::new() };
            let mut own = CertificateParams::new(reached_by)
                .map_err(|error| CertificateError::Name { name: name.clone(), error })?;
            own.distinguished_name.push(DnType::CommonName, name);
            own.extended_key_usages = vec![purpose];
            (own.not_before, own.not_after) = (lifetime.begin, lifetime.end);
            let key = KeyPair::generate()?;
            folder.add(format!("{name}.pem"), own.signed_by(&key, &issuer)?.pem());
            folder.add_secret(format!("{name}.key"), key.serialize_pem());
        }
        folder.write()
    }

    /// Creates the authority, and adds its files to the folder.
    fn add_authority(
        &self,
        folder: &mut Folder,
    ) -> Result<Issuer<'static, KeyPair>, CertificateError> {
        let lifetime = lifetime(if self.keep_authority { LONGEST } else { self.valid_for })?;
        let mut own = CertificateParams::new([])?;
        let key = KeyPair::generate()?;
        // Two authorities with the same name would be confused, and their certificates refused as
        // forged.
        let tag: String =
            key.public_key_raw().iter().rev().take(4).map(|b| format!("{b:02x}")).collect();
        own.distinguished_name
            .push(DnType::CommonName, format!("netdiv development authority {tag}"));
        own.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        own.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        (own.not_before, own.not_after) = (lifetime.begin, lifetime.end);
        folder.add("ca.pem".into(), own.self_signed(&key)?.pem());
        if self.keep_authority {
            folder.add_secret("ca.key".into(), key.serialize_pem());
        }
        Ok(Issuer::new(own, key))
    }

    /// Returns the name and the purpose of each certificate.
    fn subjects(&self) -> Result<Vec<(&String, ExtendedKeyUsagePurpose)>, CertificateError> {
        let hosts = self.hosts.iter().map(|host| (host, ExtendedKeyUsagePurpose::ServerAuth));
        let clients = self.clients.iter().map(|name| (name, ExtendedKeyUsagePurpose::ClientAuth));
        let all: Vec<_> = hosts.chain(clients).collect();
        for (place, (name, purpose)) in all.iter().enumerate() {
            // `HOST:PORT` is not a host, and its certificate would be useless; but IPv6 addresses
            // contain colons too.
            let has_port = *purpose == ExtendedKeyUsagePurpose::ServerAuth
                && name.contains(':')
                && name.parse::<IpAddr>().is_err();
            let is_taken = all[..place].iter().any(|(other, _)| other == name);
            if has_port || is_taken || !is_file_name(name) {
                return Err(CertificateError::FileName((*name).clone()));
            }
        }
        Ok(all)
    }
}

fn lifetime(valid_for: Duration) -> Result<Lifetime, CertificateError> {
    Lifetime::of_new(valid_for).ok_or(CertificateError::ValidFor)
}

/// Returns true if a certificate can have a file of this name. `ca` is the authority's.
fn is_file_name(name: &str) -> bool {
    !["ca", "", ".", ".."].contains(&name)
        && !name.contains('/')
        && !name.chars().any(char::is_control)
}
