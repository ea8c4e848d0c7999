//! Authority that signs certificates.

use std::{io, os::unix::fs::MetadataExt as _, path::Path, time::Duration};

use netdiv_node_common::resources::files;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SubjectPublicKeyInfo,
};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};

use super::{CertificateError, Folder, Subject};
use crate::security::{
    lifetime::{LONGEST, Lifetime},
    tls::refuse_encrypted,
};

/// Name of the file with the authority's certificate.
const CERTIFICATE: &str = "ca.pem";

/// Name of the file with the authority's key, if the key is kept.
const KEY: &str = "ca.key";

/// Authority that signs certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Certificate of the authority, in PEM.
    certificate: String,
    lifetime: Lifetime,
    /// Files of a new authority that are still to be written; `None` if the authority was opened
    /// from a folder.
    new: Option<KeptFiles>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeptFiles {
    Certificate,
    KeyToo,
}

impl Authority {
    /// Creates an authority that is valid for `valid_for`. Its key is not kept, so no certificates
    /// can be added later.
    pub fn new(valid_for: Duration) -> Result<Self, CertificateError> {
        Self::make(valid_for, KeptFiles::Certificate)
    }

    /// Creates an authority that is valid for ten years. Its key is kept, so that certificates can
    /// be added later.
    pub fn new_to_keep() -> Result<Self, CertificateError> {
        Self::make(LONGEST, KeptFiles::KeyToo)
    }

    fn make(valid_for: Duration, keep: KeptFiles) -> Result<Self, CertificateError> {
        let lifetime = lifetime(valid_for)?;
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
        let certificate = own.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(own, key), certificate, lifetime, new: Some(keep) })
    }

    /// Opens the authority whose certificate (`ca.pem`) and key (`ca.key`) are in a folder.
    pub fn open(folder: &Path) -> Result<Self, CertificateError> {
        let (certificate_path, key_path) = (folder.join(CERTIFICATE), folder.join(KEY));
        let unusable = |path: &Path, why: String| CertificateError::NoAuthority {
            path: path.display().to_string(),
            why,
        };
        let certificate = read(&certificate_path)?;
        let key = match key_path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(CertificateError::NoKey(key_path.display().to_string()));
            }
            Ok(key) if key.mode() & 0o077 != 0 => {
                return Err(CertificateError::OpenKey(key_path.display().to_string()));
            }
            _ => read(&key_path)?,
        };
        refuse_encrypted(&key).map_err(|why| unusable(&key_path, why.into()))?;
        let key =
            KeyPair::from_pem(&key).map_err(|error| unusable(&key_path, error.to_string()))?;
        let found: Vec<_> = CertificateDer::pem_slice_iter(certificate.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| unusable(&certificate_path, error.to_string()))?;
        let [der] = &found[..] else {
            let why = format!("it holds {} certificates; expected one", found.len());
            return Err(unusable(&certificate_path, why));
        };
        let wrong = |why: &str| Err(unusable(&certificate_path, why.into()));
        match x509_parser::parse_x509_certificate(der) {
            Err(error) => return wrong(&error.to_string()),
            Ok((_, own)) if !own.is_ca() => return wrong("it is not an authority's certificate"),
            Ok((_, own))
                if own.public_key().raw != rcgen::PublicKeyData::subject_public_key_info(&key) =>
            {
                return wrong("ca.key is the key of another certificate");
            }
            Ok(_) => {}
        }
        let lifetime = Lifetime::of(der).map_err(|why| unusable(&certificate_path, why))?;
        if let Some(fault) = lifetime.fault() {
            return wrong(&fault);
        }
        let issuer = Issuer::from_ca_cert_der(der, key)
            .map_err(|error| unusable(&certificate_path, error.to_string()))?;
        Ok(Self { issuer, certificate, lifetime, new: None })
    }

    /// Writes a new key and its certificate for each subject into the folder, and the authority's
    /// own certificate. Certificates are valid for `valid_for`. Returns the names of the files. If
    /// a file exists already, fails without writing any file.
    pub fn certify(
        &self,
        folder: &Path,
        subjects: &[Subject],
        valid_for: Duration,
    ) -> Result<Vec<String>, CertificateError> {
        let lifetime = self.lifetime_within(valid_for)?;
        let (mut output, is_lacking) = self.prepare(folder)?;
        for subject in subjects {
            output.will_hold(&subject.file("pem"))?;
            output.will_hold(&subject.file("key"))?;
        }
        self.add_own(&mut output, is_lacking);
        for subject in subjects {
            let key = KeyPair::generate()?;
            let mut parameters = subject.parameters()?;
            (parameters.not_before, parameters.not_after) = (lifetime.begin, lifetime.end);
            output.add(subject.file("pem"), parameters.signed_by(&key, &self.issuer)?.pem());
            output.add_secret(subject.file("key"), key.serialize_pem());
        }
        output.write()
    }

    /// Like [`Self::certify`], but writes certificates for the keys in `requests` and creates no
    /// keys. Returns a line for each written certificate, with its subject.
    pub fn sign(
        &self,
        folder: &Path,
        requests: &[(Subject, SubjectPublicKeyInfo)],
        valid_for: Duration,
    ) -> Result<Vec<String>, CertificateError> {
        let lifetime = self.lifetime_within(valid_for)?;
        let (mut output, is_lacking) = self.prepare(folder)?;
        for (place, (subject, _)) in requests.iter().enumerate() {
            output.will_hold(&subject.file("pem"))?;
            if requests[..place].iter().any(|(other, _)| other.file("pem") == subject.file("pem")) {
                return Err(CertificateError::FileName(subject.file("csr")));
            }
        }
        self.add_own(&mut output, is_lacking);
        for (subject, key) in requests {
            let mut parameters = subject.parameters()?;
            (parameters.not_before, parameters.not_after) = (lifetime.begin, lifetime.end);
            output.add(subject.file("pem"), parameters.signed_by(key, &self.issuer)?.pem());
        }
        output.write()?;
        let own = is_lacking.then(|| CERTIFICATE.to_owned());
        Ok(own.into_iter().chain(requests.iter().map(|(subject, _)| subject.words())).collect())
    }

    /// Returns the folder, and true if the authority's certificate has to be written into it. Fails
    /// if the folder has the certificate of another authority.
    fn prepare(&self, folder: &Path) -> Result<(Folder, bool), CertificateError> {
        let output = Folder::new(folder);
        if self.new.is_some() {
            output.will_hold(CERTIFICATE)?;
            output.will_hold(KEY)?;
            return Ok((output, true));
        }
        let there = folder.join(CERTIFICATE);
        if !there.exists() {
            return Ok((output, true));
        }
        if read(&there)?.trim() != self.certificate.trim() {
            return Err(CertificateError::OtherAuthority(there.display().to_string()));
        }
        Ok((output, false))
    }

    fn add_own(&self, output: &mut Folder, is_lacking: bool) {
        if is_lacking {
            output.add(CERTIFICATE.into(), self.certificate.clone());
        }
        if self.new == Some(KeptFiles::KeyToo) {
            output.add_secret(KEY.into(), self.issuer.key().serialize_pem());
        }
    }

    /// Returns the period of certificates that are valid for `valid_for`. Fails if they would
    /// outlive the authority.
    fn lifetime_within(&self, valid_for: Duration) -> Result<Lifetime, CertificateError> {
        let lifetime = lifetime(valid_for)?;
        // An authority that was created a moment ago ends a moment before its certificates.
        if self.new.is_none() && lifetime.end > self.lifetime.end {
            return Err(CertificateError::ValidFor(format!(
                "is too long: the authority expires on {}; choose a shorter time, or create a new authority",
                self.lifetime
            )));
        }
        Ok(lifetime)
    }
}

fn lifetime(valid_for: Duration) -> Result<Lifetime, CertificateError> {
    Lifetime::of_new(valid_for)
        .ok_or_else(|| CertificateError::ValidFor("must be a minute to ten years (3650d)".into()))
}

fn read(path: &Path) -> Result<String, CertificateError> {
    files::read_text(path)
        .map_err(|error| CertificateError::Unreadable { path: path.display().to_string(), error })
}
