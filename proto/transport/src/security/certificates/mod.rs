//! Certificates for a lab: an authority, a certificate for each node, and one for each client. Also
//! requests for certificates, for a site that has its own authority.

mod authority;
mod error;
mod folder;
mod subject;
#[cfg(test)]
mod tests;

use std::{path::Path, time::Duration};

pub use authority::Authority;
pub use error::CertificateError;
use folder::Folder;
pub use subject::Subject;

/// Default lifetime of certificates: a year.
pub const VALID_FOR: Duration = Duration::from_secs(365 * 86_400);

/// Creates a new authority, whose key is not kept. It signs certificates for these hosts (DNS names
/// or IP addresses) and for the client `client`. Writes `ca.pem`, and `NAME.pem` and `NAME.key` for
/// each certificate, into the folder. Returns the names of the files. If a file exists already,
/// fails without writing any file.
pub fn make_certificates(folder: &Path, hosts: &[String]) -> Result<Vec<String>, CertificateError> {
    let subjects = Subject::all(hosts, &[String::from("client")])?;
    Authority::new(VALID_FOR)?.certify(folder, &subjects, VALID_FOR)
}

/// Writes a new key (`NAME.key`) and a request for a certificate (`NAME.csr`) for each subject into
/// the folder. Returns the names of the files.
pub fn make_requests(folder: &Path, subjects: &[Subject]) -> Result<Vec<String>, CertificateError> {
    let mut folder = Folder::new(folder);
    for subject in subjects {
        folder.will_hold(&subject.file("key"))?;
        folder.will_hold(&subject.file("csr"))?;
    }
    for subject in subjects {
        let key = rcgen::KeyPair::generate()?;
        let request = subject.parameters()?.serialize_request(&key)?;
        folder.add_secret(subject.file("key"), key.serialize_pem());
        folder.add(subject.file("csr"), request.pem()?);
    }
    folder.write()
}
