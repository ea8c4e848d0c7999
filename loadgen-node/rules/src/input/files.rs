//! Access to regular files only: a pipe or a device in a submission could block forever.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use netdiv_node_common::resources::files;
pub(crate) use netdiv_node_common::resources::files::{open, read_text, read_toml, sha256};
use sha2::{Digest as _, Sha256};

pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    files::read(path, u64::MAX)
}

pub(crate) const DOCUMENT_BYTES: u64 = 1 << 20;

/// Returns true if a file is a document, by its name.
pub(crate) fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "md")
}

/// Reads the text of a file. Fails if a document exceeds [`DOCUMENT_BYTES`].
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    files::read_to_string(path, if is_document(path) { DOCUMENT_BYTES } else { u64::MAX })
}

/// Returns the SHA-256 of bytes, in hex.
pub fn sha256_of(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Lists the names and paths of a folder's entries, in alphabetical order.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let entries = fs::read_dir(folder)?.map(|entry| {
        let entry = entry?;
        Ok((entry.file_name().to_string_lossy().into_owned(), entry.path()))
    });
    let mut entries: Vec<_> = entries.collect::<io::Result<_>>()?;
    entries.sort();
    Ok(entries)
}
