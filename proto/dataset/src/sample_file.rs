//! Reader of parts of a file. It copies the parts into memory instead of mapping the file, so later
//! changes of the file neither change a loaded sample nor end the process.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use netdiv_node_common::resources::{files, memory};

use crate::error::DatasetError;

/// Open file of a data set, with its length when it was opened.
pub(super) struct SampleFile {
    path: PathBuf,
    content: Content,
    bytes: u64,
}

enum Content {
    File(File),
    Memory(Bytes),
}

impl SampleFile {
    pub(super) fn open(path: &Path) -> Result<Self, DatasetError> {
        let unreadable = |error| DatasetError::Unreadable { path: path.into(), error };
        let file = files::open(path).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        Ok(Self { path: path.into(), content: Content::File(file), bytes })
    }

    /// Creates a file whose content is in memory.
    pub(super) fn in_memory(name: &str, content: Bytes) -> Self {
        let bytes = content.len() as u64;
        Self { path: name.into(), content: Content::Memory(content), bytes }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads `bytes` bytes from `start` on. Fails if the file's length has changed since it was
    /// opened.
    pub(super) fn read(&self, start: u64, bytes: u64) -> Result<Bytes, DatasetError> {
        let file = match &self.content {
            Content::File(file) => file,
            Content::Memory(content) => {
                let end = start.checked_add(bytes).filter(|end| *end <= self.bytes);
                let end = end.ok_or_else(|| self.changed("it is too short".into()))?;
                return Ok(content.slice(start as usize..end as usize));
            }
        };
        let unreadable = |error| DatasetError::Unreadable { path: self.path.clone(), error };
        let mut content = memory::zeros(bytes).map_err(|error| unreadable(error.into()))?;
        file.read_exact_at(&mut content, start).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.changed("it is too short now".into()),
            _ => unreadable(error),
        })?;
        let now = file.metadata().map_err(unreadable)?.len();
        if now != self.bytes {
            let before = self.bytes;
            return Err(self.changed(format!("it had {before} bytes, and now has {now}")));
        }
        Ok(content.into())
    }

    /// Returns the error for a file that has changed.
    pub(super) fn changed(&self, why: String) -> DatasetError {
        DatasetError::Changed { path: self.path.clone(), why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_to_a_file_later_does_not_matter_and_what_happens_before_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples");
        std::fs::write(&path, "first second").unwrap();
        let file = SampleFile::open(&path).unwrap();
        let loaded = file.read(6, 6).unwrap();
        let write = File::options().write(true).open(&path).unwrap();
        write.write_all_at(b"FIRST SECOND", 0).unwrap();
        write.set_len(8).unwrap();
        assert_eq!(loaded, "second");
        for (start, bytes, why) in [(6, 6, "too short"), (0, 5, "had 12 bytes, and now has 8")] {
            let error = file.read(start, bytes).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("samples has changed"), "{error}");
        }
        // A new file under the same name does not affect the open one.
        let file = SampleFile::open(&path).unwrap();
        std::fs::write(folder.path().join("other"), "").unwrap();
        std::fs::rename(folder.path().join("other"), &path).unwrap();
        assert_eq!(file.read(0, 5).unwrap(), "FIRST");
    }

    #[test]
    fn more_than_there_is_memory_for_is_refused_by_number() {
        let file = SampleFile::open(Path::new("Cargo.toml")).unwrap();
        let error = file.read(0, 1 << 60).unwrap_err().to_string();
        assert!(error.contains("Cargo.toml: 1152921504606846976 bytes of memory"), "{error}");
    }
}
