//! Folder into which certificates are written, and errors of creating them.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use netdiv_node_common::resources::remedy;

/// Error of creating certificates.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum CertificateError {
    /// The name is not allowed in a certificate.
    #[error("cannot create a certificate for `{name}`: {error}")]
    Name { name: String, error: rcgen::Error },
    /// Two files would have the same name, or a file would be in another folder.
    #[error(
        "`{0}` is not a valid name for a certificate: write hosts without ports and each name once; `ca` is the authority's"
    )]
    FileName(String),
    /// A file already exists.
    #[error("{0} exists already; choose another folder, or move it away")]
    Exists(String),
    /// The library failed.
    #[error("cannot create a key or certificate: {0}")]
    Library(#[from] rcgen::Error),
    /// A file could not be written.
    #[error("cannot write {path}: {error}{}", remedy(error))]
    Write { path: String, error: io::Error },
    /// The lifetime is out of range.
    #[error("--valid-for must be a minute to ten years (3650d)")]
    ValidFor,
}

/// Folder, and the files to write into it: all of them or none.
pub(super) struct Folder {
    path: PathBuf,
    files: Vec<NewFile>,
}

struct NewFile {
    name: String,
    text: String,
    mode: u32,
}

impl Folder {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), files: Vec::new() }
    }

    /// Adds a file that all users may read.
    pub(super) fn add(&mut self, name: String, text: String) {
        self.files.push(NewFile { name, text, mode: 0o644 });
    }

    /// Adds a file that only its owner may read.
    pub(super) fn add_secret(&mut self, name: String, text: String) {
        self.files.push(NewFile { name, text, mode: 0o600 });
    }

    /// Creates the folder and writes the files, first under temporary names. Returns the names of
    /// the files, in the order in which they were added. Fails if the folder already has one of
    /// them.
    pub(super) fn write(self) -> Result<Vec<String>, CertificateError> {
        let mut paths = self.files.iter().map(|file| self.path.join(&file.name));
        // A link to a missing file counts as existing too.
        if let Some(path) = paths.find(|path| path.symlink_metadata().is_ok()) {
            return Err(CertificateError::Exists(path.display().to_string()));
        }
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |error: io::Error| CertificateError::Write { path, error }
        };
        fs::create_dir_all(&self.path).map_err(failed(&self.path))?;
        let mut made = CreatedFiles::default();
        for file in &self.files {
            let beside = self.path.join(format!("{}.part", file.name));
            made.0.push(beside.clone());
            file.write(&beside).map_err(failed(&beside))?;
        }
        for (file, made) in self.files.iter().zip(&mut made.0) {
            let path = self.path.join(&file.name);
            fs::rename(&*made, &path).map_err(failed(&path))?;
            *made = path;
        }
        made.0.clear();
        Ok(self.files.into_iter().map(|file| file.name).collect())
    }
}

impl NewFile {
    fn write(&self, path: &Path) -> io::Result<()> {
        // A process that was killed may have left a temporary file.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(self.mode).open(path)?;
        file.write_all(self.text.as_bytes())?;
        file.sync_all()
    }
}

/// Paths of the files that were created. Dropping this value removes the files: an incomplete set
/// would make the next attempt fail.
#[derive(Default)]
struct CreatedFiles(Vec<PathBuf>);

impl Drop for CreatedFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            // The error that led here is the one to report.
            let _ = fs::remove_file(path);
        }
    }
}
