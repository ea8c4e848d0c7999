//! Certificates and tokens for as long as the tests run.

use std::{process::Command, sync::OnceLock};

use e2e::process::program;

/// Files of a lab.
pub struct Papers {
    /// The authority's certificate.
    pub authority: &'static str,
    /// A certificate for 127.0.0.1.
    pub certificate: &'static str,
    /// Its key.
    pub key: &'static str,
}

/// Those of our lab.
pub fn ours() -> &'static Papers {
    static OURS: OnceLock<Papers> = OnceLock::new();
    OURS.get_or_init(make)
}

/// Those of another.
pub fn theirs() -> &'static Papers {
    static THEIRS: OnceLock<Papers> = OnceLock::new();
    THEIRS.get_or_init(make)
}

fn make() -> Papers {
    let folder = tempfile::tempdir().expect("a folder").keep();
    let output = folder.display().to_string();
    let args = ["certificates", "--hosts", "127.0.0.1", "--output", &output];
    let made = Command::new(program("loadgen-node")).args(args).output();
    assert!(made.expect("loadgen-node starts").status.success());
    let path = |name: &str| &*folder.join(name).display().to_string().leak();
    Papers {
        authority: path("ca.pem"),
        certificate: path("127.0.0.1.pem"),
        key: path("127.0.0.1.key"),
    }
}

/// A file with this token.
pub fn token(token: &str) -> &'static str {
    let folder = tempfile::tempdir().expect("a folder").keep();
    let path = folder.join("token");
    std::fs::write(&path, token).expect("the folder is ours");
    path.display().to_string().leak()
}
