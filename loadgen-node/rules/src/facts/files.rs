//! Opens regular files and nothing else: a pipe or a device that somebody put into a submission could block forever.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use sha2::{Digest as _, Sha256};

/// Opens a regular file; links are followed.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}

/// All of its bytes.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Its text.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// The SHA-256 of a file, in hex.
pub(crate) fn sha256(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut open(path)?, &mut hash)?;
    Ok(hex::encode(hash.finalize()))
}

/// The SHA-256 of bytes, in hex.
pub(crate) fn sha256_of(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(Sha256::digest(bytes))
}
