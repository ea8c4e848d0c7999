//! Embeds the sources of this program into it: a submission has to contain the QDL's sources
//! (rules, section 6.2.1), exactly as they ran.

#[path = "../proto/node-common/revision.rs"]
mod revision;

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// Files and folders of a submission's sources, relative to the top folder.
const PARTS: [&str; 29] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "LICENSE",
    "docs/PROTOCOL.md",
    "proto",
    "proto/transport/src/discovery/host_lists.txt",
    "qdl",
    "sut-node",
    "loadgen-node",
    "loadgen-node/rules/tests/compliance/summary.txt",
    // The demo's models and data are embedded in the programs.
    "deploy/digits/digits.onnx",
    "deploy/digits/images.npy",
    "deploy/digits/labels.npy",
    "deploy/digits/user.conf",
    "deploy/sorting/greedy.txt",
    "deploy/sorting/outputs.ids",
    "deploy/sorting/prompts.ids",
    "deploy/sorting/sorting.onnx",
    "deploy/sorting/sorting.toml",
    // The package of engines in Python is embedded in sut-node.
    "python/netdiv-engine",
    // Members of the workspace, without which Cargo builds nothing.
    "tests",
    "tools",
    "tests/plugin/factor.txt",
    "tests/fuzz/corpus/run_folders/accuracy",
    "tests/fuzz/corpus/run_folders/detail",
    "tests/fuzz/corpus/run_folders/result",
    "tests/fuzz/corpus/run_folders/summary",
    README,
];

/// Build instructions, which the sources also contain as their README.
const README: &str = "loadgen-node/src/sources/readme.txt";

/// Extensions of source files. A file named in [`PARTS`] is a source whatever its extension.
const KINDS: [&str; 10] = ["rs", "toml", "lock", "proto", "h", "cc", "py", "json", "css", "j2"];

/// Folders that hold build products or installed packages.
const NO_SOURCES: [&str; 3] = ["target", "node_modules", "__pycache__"];

fn main() -> Result<(), Box<dyn Error>> {
    let top = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("..").canonicalize()?;
    let mut files = Vec::new();
    for part in PARTS {
        let path = top.join(part);
        if path.is_dir() {
            collect(&path, &mut files)?;
        } else {
            files.push(path);
        }
    }
    let mut named = Vec::new();
    for file in files {
        named.push((file.strip_prefix(&top)?.display().to_string(), file));
    }
    named.push(("README.md".into(), top.join(README)));
    named.sort();
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut list = String::from("[\n");
    for (number, (name, file)) in named.iter().enumerate() {
        // A copy, because the file may change before the compiler reads it.
        let copy = out.join(format!("source-{number}"));
        fs::copy(file, &copy)?;
        writeln!(
            list,
            "    ({name:?}, include_bytes!({:?}).as_slice()),",
            copy.display().to_string()
        )?;
    }
    list.push(']');
    fs::write(out.join("sources.rs"), list)?;
    revision::state(&top, &PARTS);
    Ok(())
}

/// Collects the sources under a folder, without hidden files and links.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if name.starts_with('.') || NO_SOURCES.contains(&name.as_ref()) {
            continue;
        }
        let is_source = || path.extension().is_some_and(|kind| KINDS.iter().any(|k| kind == *k));
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if entry.file_type()?.is_file() && is_source() {
            files.push(path);
        }
    }
    Ok(())
}
