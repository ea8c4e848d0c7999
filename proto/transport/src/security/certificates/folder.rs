//! The folder that certificates are written into.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::CertificateError;

/// A folder, and what was written into it. It is made with the first file.
pub(super) struct Folder {
    path: PathBuf,
    written: Vec<String>,
}

impl Folder {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), written: Vec::new() }
    }

    /// Refuses a file that exists, so that nothing is written where not all can be.
    pub(super) fn will_hold(&self, name: &str) -> Result<(), CertificateError> {
        let path = self.path.join(name);
        // A link to nowhere would be in the way too.
        match path.symlink_metadata() {
            Ok(_) => Err(CertificateError::Exists(path.display().to_string())),
            Err(_) => Ok(()),
        }
    }

    /// A file that everybody may read.
    pub(super) fn write(&mut self, name: &str, text: &str) -> Result<(), CertificateError> {
        self.write_as(name, text, 0o644)
    }

    /// A file that only its owner may read.
    pub(super) fn write_secret(&mut self, name: &str, text: &str) -> Result<(), CertificateError> {
        self.write_as(name, text, 0o600)
    }

    fn write_as(&mut self, name: &str, text: &str, mode: u32) -> Result<(), CertificateError> {
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |error: io::Error| CertificateError::Write { path, error }
        };
        fs::create_dir_all(&self.path).map_err(failed(&self.path))?;
        let path = self.path.join(name);
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(mode).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed(&path))?;
        self.written.push(name.into());
        Ok(())
    }

    /// The names of the files that were written, in order.
    pub(super) fn written(self) -> Vec<String> {
        self.written
    }
}
