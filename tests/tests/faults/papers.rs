//! Certificates and tokens for as long as the tests run.

use std::{fs, path::Path, process::Command};

use e2e::process::program;
use tempfile::TempDir;

/// What somebody has to show, as files.
pub struct Papers {
    /// Certificates of our lab.
    pub ours: Certificates,
    /// Those of another.
    pub theirs: Certificates,
    /// A token.
    pub token: &'static str,
    /// Another.
    pub wrong_token: &'static str,
    _folder: TempDir,
}

/// Files of a lab.
pub struct Certificates {
    /// The authority's certificate.
    pub authority: &'static str,
    /// A certificate for 127.0.0.1.
    pub certificate: &'static str,
    /// Its key.
    pub key: &'static str,
}

impl Papers {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let token = |name: &str, token: &str| {
            fs::write(folder.path().join(name), token).expect("the folder is ours");
            path(folder.path(), name)
        };
        Self {
            ours: Certificates::new(&folder.path().join("ours")),
            theirs: Certificates::new(&folder.path().join("theirs")),
            token: token("right", "correct-horse-battery"),
            wrong_token: token("wrong", "correct-horse-staples"),
            _folder: folder,
        }
    }
}

impl Certificates {
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

/// Faults are data without lifetimes; a few paths for a whole test are no loss.
fn path(folder: &Path, name: &str) -> &'static str {
    folder.join(name).display().to_string().leak()
}
