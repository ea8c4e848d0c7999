//! Subject of a certificate: a node or a client.

use std::{net::IpAddr, path::Path};

use netdiv_node_common::resources::files;
use rcgen::{
    CertificateParams, CertificateSigningRequestParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    SanType, SubjectPublicKeyInfo,
};
use rustls::pki_types::{CertificateSigningRequestDer, pem::PemObject as _};
use x509_parser::{certification_request::X509CertificationRequest, prelude::FromDer as _};

use super::CertificateError;

/// Subject of a certificate: a node or a client.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Name of the subject's files, without the extension, and its common name in the certificate.
    name: String,
    /// DNS names and IP addresses at which clients reach a node; a client needs none.
    reached_by: Vec<SanType>,
    /// Purposes for which the key may be used: as a node, as a client, or both.
    purposes: Vec<ExtendedKeyUsagePurpose>,
}

impl Subject {
    /// Returns a subject for each node and then for each client. `hosts` has the DNS name or IP
    /// address at which each node is reached; `clients` has names of clients.
    pub fn all(hosts: &[String], clients: &[String]) -> Result<Vec<Self>, CertificateError> {
        let hosts = hosts.iter().map(|host| Self::node(host));
        let clients = clients.iter().map(|name| {
            let purposes = vec![ExtendedKeyUsagePurpose::ClientAuth];
            Ok(Self { name: name.clone(), reached_by: Vec::new(), purposes })
        });
        let all = hosts.chain(clients).collect::<Result<Vec<_>, _>>()?;
        for (place, Self { name, .. }) in all.iter().enumerate() {
            if all[..place].iter().any(|other| other.name == *name) {
                return Err(CertificateError::FileName(name.clone()));
            }
            check_file_name(name)?;
        }
        Ok(all)
    }

    fn node(host: &str) -> Result<Self, CertificateError> {
        // `HOST:PORT` is not a host, and its certificate would be useless; but IPv6 addresses
        // contain colons too.
        if host.parse::<IpAddr>().is_err() && host.contains(':') {
            return Err(CertificateError::FileName(host.into()));
        }
        let named = CertificateParams::new([host.to_owned()])
            .map_err(|error| CertificateError::Name { name: host.into(), error })?;
        let purposes = vec![ExtendedKeyUsagePurpose::ServerAuth];
        Ok(Self { name: host.into(), reached_by: named.subject_alt_names, purposes })
    }

    /// Returns the name of the subject's file with the extension `kind`.
    pub(super) fn file(&self, kind: &str) -> String {
        format!("{}.{kind}", self.name)
    }

    /// Returns the content of the subject's certificate or request.
    pub(super) fn parameters(&self) -> Result<CertificateParams, rcgen::Error> {
        let mut parameters = CertificateParams::new([])?;
        parameters.subject_alt_names.clone_from(&self.reached_by);
        parameters.extended_key_usages.clone_from(&self.purposes);
        parameters.distinguished_name.push(DnType::CommonName, &self.name);
        Ok(parameters)
    }

    /// Reads a request for a certificate (`NAME.csr`, in PEM). Returns its subject, and the public
    /// key whose private key has signed the request. The subject has the file's name, and only the
    /// DNS names, addresses and purposes of the request.
    pub fn of_request(path: &Path) -> Result<(Self, SubjectPublicKeyInfo), CertificateError> {
        let shown = || path.display().to_string();
        let refused = |why: String| CertificateError::Request { path: shown(), why };
        let text = files::read_text(path)
            .map_err(|error| CertificateError::Unreadable { path: shown(), error })?;
        let found: Vec<_> = CertificateSigningRequestDer::pem_slice_iter(text.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| refused(error.to_string()))?;
        let [request] = &found[..] else {
            return Err(refused(format!("it holds {} requests; expected one", found.len())));
        };
        let asked = CertificateSigningRequestParams::from_der(request)
            .map_err(|error| refused(error.to_string()))?
            .params;
        // The library derives the key's kind from the signature, which may be of another kind.
        let key = X509CertificationRequest::from_der(request)
            .map_err(|error| refused(error.to_string()))
            .and_then(|(_, request)| {
                let key = request.certification_request_info.subject_pki.raw;
                SubjectPublicKeyInfo::from_der(key).map_err(|error| refused(error.to_string()))
            })?;
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        check_file_name(&name)?;
        if matches!(asked.is_ca, IsCa::Ca(_)) {
            return Err(refused("it asks for the rights of an authority".into()));
        }
        let purposes = asked.extended_key_usages;
        let [node, client] =
            [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        if purposes.is_empty() || !purposes.iter().all(|one| *one == node || *one == client) {
            let why = "its extended key usage must be serverAuth, for a node, or clientAuth, for a client";
            return Err(refused(why.into()));
        }
        let reached_by = asked.subject_alt_names;
        let is_known = |name: &SanType| matches!(name, SanType::DnsName(_) | SanType::IpAddress(_));
        if !reached_by.iter().all(is_known) {
            return Err(refused("it names more than DNS names and IP addresses".into()));
        }
        if reached_by.is_empty() && purposes.contains(&node) {
            let why = "it names no host; a request of a node needs the names by which the node is reached, as subjectAltName";
            return Err(refused(why.into()));
        }
        Ok((Self { name, reached_by, purposes }, key))
    }

    /// Returns a line for display: the certificate's file, the role of the subject, and the names
    /// and addresses of a node.
    pub(super) fn words(&self) -> String {
        let is_node = self.purposes.contains(&ExtendedKeyUsagePurpose::ServerAuth);
        let is_client = self.purposes.contains(&ExtendedKeyUsagePurpose::ClientAuth);
        let role = match (is_node, is_client) {
            (true, true) => "a node and client",
            (true, false) => "a node",
            _ => "a client",
        };
        let names: Vec<_> = self.reached_by.iter().map(said).collect();
        let reached =
            if names.is_empty() { String::new() } else { format!(" at {}", names.join(", ")) };
        format!("{} for {role}{reached}", self.file("pem"))
    }
}

/// Returns a name or address of a certificate, for display.
fn said(name: &SanType) -> String {
    match name {
        SanType::DnsName(name) => netdiv_node_common::sanitise::sanitise(name.as_str()),
        SanType::IpAddress(address) => address.to_string(),
        _ => "?".into(),
    }
}

fn check_file_name(name: &str) -> Result<(), CertificateError> {
    let taken = ["ca", "", ".", ".."].contains(&name);
    if taken || name.contains(['/', '\0']) || name.chars().any(char::is_control) {
        return Err(CertificateError::FileName(name.into()));
    }
    Ok(())
}
