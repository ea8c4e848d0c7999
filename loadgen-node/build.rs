//! Puts the sources that this program is made of into it: a submission has to hold the QDL's (rules, section 6.2.1),
//! exactly as they ran.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// What is part of a submission, from the top folder.
const PARTS: [&str; 10] = [
    "Cargo.toml",
    "Cargo.lock",
    "LICENSE",
    "README.md",
    "docs/PROTOCOL.md",
    "proto",
    "qdl",
    "sut-node",
    "loadgen-node",
    "deploy/process",
];

/// Files of these kinds are sources.
const KINDS: [&str; 10] = ["rs", "toml", "lock", "proto", "h", "cc", "py", "md", "json", ""];

fn main() -> Result<(), Box<dyn Error>> {
    let top = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("..").canonicalize()?;
    let mut files = Vec::new();
    for part in PARTS {
        println!("cargo::rerun-if-changed={}", top.join(part).display());
        collect(&top.join(part), &mut files)?;
    }
    files.sort();
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut list = String::from("[\n");
    for (number, file) in files.iter().enumerate() {
        let name = file.strip_prefix(&top)?.display().to_string();
        // A copy: the file may change before the compiler comes to it.
        let copy = out.join(format!("source-{number}"));
        fs::copy(file, &copy)?;
        writeln!(list, "    ({name:?}, include_str!({:?})),", copy.display().to_string())?;
    }
    list.push(']');
    fs::write(out.join("sources.rs"), list)?;
    Ok(())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
        return Ok(());
    }
    let kind = path.extension().unwrap_or_default();
    let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    if !hidden && KINDS.iter().any(|known| kind == *known) {
        files.push(path.to_path_buf());
    }
    Ok(())
}
