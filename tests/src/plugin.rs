//! Engine plug-ins of `tests/plugin/`, built as a submitter would build them.

use std::{path::Path, process::Command};

use crate::{Folder, SutNode};

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

/// A plug-in in a folder with its manifests and its model.
pub struct Plugin {
    /// Folder of the plug-in.
    pub folder: Folder,
    /// Path of the shared library.
    pub library: String,
}

impl Plugin {
    /// Builds the plug-in `tests/plugin/NAME.cc`, and writes files beside it. The compiler also
    /// receives the options `macros`.
    pub fn build(name: &str, macros: &[&str], files: &[(&str, &str)]) -> Self {
        let folder = Folder::create();
        let library = folder.path(&format!("lib{name}.so"));
        compile(&format!("{name}.cc"), macros, &library);
        for (name, content) in files {
            folder.write(name, content);
        }
        Self { folder, library }
    }

    /// Starts a node with a manifest. Returns its log if it exits before it is ready.
    pub fn try_node(&self, manifest: &str, args: &[&str]) -> Result<SutNode, String> {
        let manifest = self.folder.path(manifest);
        let model = ["--engine", &self.library, "--model", &manifest];
        SutNode::try_start("a", &[&model, args].concat())
    }

    /// Starts a node with a manifest.
    pub fn node(&self, manifest: &str, args: &[&str]) -> SutNode {
        self.try_node(manifest, args).unwrap_or_else(|log| panic!("{log}"))
    }
}

fn compile(source: &str, macros: &[&str], library: &str) {
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
