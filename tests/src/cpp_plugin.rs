//! Plug-ins in C++, built as a submitter would build them.

use std::{path::Path, process::Command};

/// Builds a source of `tests/plugin` with these macros.
pub fn build_plugin(source: &str, macros: &[&str], library: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let built = Command::new("c++")
        .args(["-std=c++17", "-O1", "-shared", "-fPIC"])
        .args(macros)
        .arg("-I")
        .arg(root.join("sut-node/plugin/include"))
        .arg(root.join("tests/plugin").join(source))
        .arg("-o")
        .arg(library)
        .output()
        .expect("there is a C++ compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}
