//! Certificates and tokens that live as long as the tests.

use std::{fs, path::Path, process::Command};

use e2e::process::program;
use tempfile::TempDir;

/// Paths of certificates and tokens. Each of the two labs has its own certificate authority.
pub struct Credentials {
    /// Certificates of our lab.
    pub ours: LabCertificates,
    /// Certificates of another lab.
    pub theirs: LabCertificates,
    pub token: &'static str,
    /// Path of a file with a token that differs from `token`.
    pub wrong_token: &'static str,
    _folder: TempDir,
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
        let folder = tempfile::tempdir().expect("a folder");
        let token = |name: &str, token: &str| {
            fs::write(folder.path().join(name), token).expect("a writable folder");
            path(folder.path(), name)
        };
        Self {
            ours: LabCertificates::new(&folder.path().join("ours")),
            theirs: LabCertificates::new(&folder.path().join("theirs")),
            token: token("right", "correct-horse-battery"),
            wrong_token: token("wrong", "correct-horse-staples"),
            _folder: folder,
        }
    }
}

impl LabCertificates {
    fn new(folder: &Path) -> Self {
        let made = Command::new(program("loadgen-node"))
            .args(["certificates", "--hosts", "127.0.0.1", "--output"])
            .arg(folder)
            .output();
        assert!(made.expect("loadgen-node starts").status.success());
        Self {
            authority: path(folder, "ca.pem"),
            certificate: path(folder, "127.0.0.1.pem"),
            key: path(folder, "127.0.0.1.key"),
        }
    }
}

/// Returns a path that lives for ever: faults are data without lifetimes, and leaking a few paths
/// is harmless.
fn path(folder: &Path, name: &str) -> &'static str {
    folder.join(name).display().to_string().leak()
}
