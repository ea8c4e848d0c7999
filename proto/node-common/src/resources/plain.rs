//! User's text for a library that opens it by its path.

use std::{
    fs::File,
    io::{self, Write as _},
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::resources::{files, text};

/// Path under which a library reads a text after [`text::decode`].
#[derive(Debug)]
pub struct PlainText {
    path: PathBuf,
    /// Decoded text in memory, if it differs from the file.
    _copy: Option<File>,
}

impl PlainText {
    /// Reads and decodes a file.
    ///
    /// # Errors
    ///
    /// Fails like [`files::read_text`].
    pub fn read(path: &Path) -> io::Result<Self> {
        let bytes = files::read(path, files::TEXT_BYTES)?;
        let plain = text::decode(bytes.clone()).map_err(files::invalid)?;
        if plain.as_bytes() == bytes {
            return Ok(Self { path: path.into(), _copy: None });
        }
        let mut copy = File::from(memfd_create("text", MemfdFlags::CLOEXEC)?);
        copy.write_all(plain.as_bytes())?;
        Ok(Self { path: format!("/proc/self/fd/{}", copy.as_raw_fd()).into(), _copy: Some(copy) })
    }

    /// Returns the path, which is valid as long as this value lives.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_library_reads_a_plain_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("user.conf");
        for written in ["a = 1\n", "\u{feff}a = 1\r\n", "a\u{a0}= 1\r"] {
            fs::write(&path, written).unwrap();
            let plain = PlainText::read(&path).unwrap();
            // Reads twice: each opening begins at the start.
            for _ in 0..2 {
                assert_eq!(fs::read_to_string(plain.path()).unwrap(), "a = 1\n", "{written:?}");
            }
            assert_eq!(plain.path() == path, written == "a = 1\n");
        }
    }
}
