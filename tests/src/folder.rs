//! Temporary folders.

use std::{fs, path::Path};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder. Dropping the value removes it.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// Creates an empty folder.
    pub fn create() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Returns the folder's own path.
    pub fn root(&self) -> &Path {
        self.0.path()
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> String {
        self.root().join(name).display().to_string()
    }

    /// Writes a file, in new subfolders if its name has any, and returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.root().join(name);
        let above = path.parent().expect("the file is in the folder");
        fs::create_dir_all(above).expect("a writable folder");
        fs::write(&path, content).expect("a writable folder");
        path.display().to_string()
    }

    /// Returns the text of a file.
    pub fn read(&self, name: &str) -> String {
        let path = self.root().join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Parses a file in JSON.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect("JSON")
    }
}
