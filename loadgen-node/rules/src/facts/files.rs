//! Opens regular files and nothing else: a pipe or a device that somebody put into a submission could block forever.

use std::{io, path::Path};

use netdiv_resources::files;
pub(crate) use netdiv_resources::files::{open, read_text, sha256};
use sha2::{Digest as _, Sha256};

/// All bytes of a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    files::read(path, u64::MAX)
}

/// Its text.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    files::read_to_string(path, u64::MAX)
}

/// The SHA-256 of bytes, in hex.
pub(crate) fn sha256_of(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(Sha256::digest(bytes))
}
