//! Engine plug-ins of `tests/plugin/`, built as a submitter would build them.

use std::{path::Path, process::Command};

/// Manifest of the language model in `counter.cc`; its model may be any file.
pub const COUNTER: &str = r#"
name = "counter"
model = "model.txt"
workload = "language-model"
precision = "fp32"

[tokens]
vocabulary = 1000
max_input_tokens = 64
min_tokens = 2
max_tokens = 40
eos = [2]
slots = 5
chunk = 16
"#;

/// Builds the shared library `library` from a source file in `tests/plugin`. The compiler also
/// receives the options `macros`.
pub fn build(source: &str, macros: &[&str], library: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let built = Command::new("c++")
        .args(["-std=c++17", "-O1", "-shared", "-fPIC"])
        .args(macros)
        .arg("-I")
        .arg(root.join("sut-node/plugin/include"))
        .arg(root.join("tests/plugin").join(source))
        .args(["-o", library])
        .output()
        .expect("there is a C++ compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}
