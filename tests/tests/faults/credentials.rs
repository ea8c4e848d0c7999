//! Certificates and tokens that live as long as the tests.

use e2e::{Folder, process::loadgen_node};

/// Paths of certificates and tokens. Each of the two labs has its own certificate authority.
pub struct Credentials {
    /// Certificates of our lab.
    pub ours: LabCertificates,
    /// Certificates of another lab.
    pub theirs: LabCertificates,
    pub token: &'static str,
    /// Path of a file with a token that differs from `token`.
    pub wrong_token: &'static str,
    _folder: Folder,
}

/// Paths of the files of a lab.
pub struct LabCertificates {
    /// Path of the authority's certificate.
    pub authority: &'static str,
    /// Path of a certificate for 127.0.0.1.
    pub certificate: &'static str,
    /// Path of the certificate's key.
    pub key: &'static str,
}

impl Credentials {
    pub fn new() -> Self {
        let folder = Folder::create();
        let lab = |name: &str| {
            let output = folder.path(name);
            loadgen_node(&["certificates", "--hosts", "127.0.0.1", "--output", &output]).expect(0);
            // Faults are data without lifetimes, and leaking a few paths is harmless.
            let path =
                |file: &str| -> &'static str { folder.path(&format!("{name}/{file}")).leak() };
            let (certificate, key) = (path("127.0.0.1.pem"), path("127.0.0.1.key"));
            LabCertificates { authority: path("ca.pem"), certificate, key }
        };
        Self {
            ours: lab("ours"),
            theirs: lab("theirs"),
            token: folder.write("right", "correct-horse-battery").leak(),
            wrong_token: folder.write("wrong", "correct-horse-staples").leak(),
            _folder: folder,
        }
    }
}
