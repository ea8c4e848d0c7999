//! `--ready-file`: the addresses of the node, for the program that started it. `docs/OPERATING.md`
//! describes the file.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use netdiv_node_common::resources::files;
use serde::Serialize;
use tracing::warn;

/// Content of the ready file, as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct ReadyContent<'a> {
    pub(crate) name: &'a str,
    pub(crate) grpc: Option<SocketAddr>,
    pub(crate) quic: Option<SocketAddr>,
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) pid: u32,
}

/// Error for a ready file that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("--ready-file {}: cannot be written: {error}", path.display())]
pub struct ReadyFileError {
    /// Path of the file.
    pub path: PathBuf,
    /// Error of the system.
    pub error: io::Error,
}

/// Ready file of this node. It is removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct ReadyFile {
    path: PathBuf,
    /// Path of a temporary file, which is written first and then renamed, so that no program reads
    /// half a file.
    temporary: PathBuf,
    written: Option<String>,
}

impl ReadyFile {
    /// Removes the file of an earlier node, and checks that this node will be able to write its
    /// file.
    pub(crate) fn prepare(path: &Path) -> Result<Self, ReadyFileError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let file = Self { path: path.into(), temporary: path.with_file_name(name), written: None };
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file.error(error)),
            _ => fs::write(&file.temporary, "").map_err(|error| file.error(error)).map(|()| file),
        }
    }

    /// Writes the file, which tells other programs that the node accepts calls.
    pub(crate) fn publish(&mut self, ready: &ReadyContent<'_>) -> Result<(), ReadyFileError> {
        let text = serde_json::to_string(ready).map_err(|error| self.error(error.into()))?;
        let text = text + "\n";
        let written = fs::write(&self.temporary, &text)
            .and_then(|()| fs::rename(&self.temporary, &self.path))
            .map_err(|error| self.error(error));
        self.written = Some(text);
        written
    }

    fn error(&self, error: io::Error) -> ReadyFileError {
        ReadyFileError { path: self.path.clone(), error }
    }
}

impl Drop for ReadyFile {
    fn drop(&mut self) {
        // Once the temporary file was renamed, it does not exist any more.
        let _ = fs::remove_file(&self.temporary);
        let Some(written) = &self.written else { return };
        // A node that was started meanwhile may have written its own file.
        if files::read_text(&self.path).is_ok_and(|text| text == *written)
            && let Err(error) = fs::remove_file(&self.path)
        {
            warn!(file = %self.path.display(), %error, "the ready file could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready() -> ReadyContent<'static> {
        let grpc = Some(([127, 0, 0, 1], 50051).into());
        ReadyContent { name: "a", grpc, quic: None, metrics: None, pid: 7 }
    }

    #[test]
    fn the_file_is_there_while_the_node_takes_calls() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ready.json");
        fs::write(&path, "of a node that was killed").unwrap();
        let mut file = ReadyFile::prepare(&path).unwrap();
        assert!(!path.exists(), "an old file would mislead");
        file.publish(&ready()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let want = r#"{"name":"a","grpc":"127.0.0.1:50051","quic":null,"metrics":null,"pid":7}"#;
        assert_eq!(text, format!("{want}\n"));
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_file_of_another_node_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ready.json");
        let mut file = ReadyFile::prepare(&path).unwrap();
        file.publish(&ready()).unwrap();
        fs::write(&path, "of the next node").unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "of the next node");
    }

    #[test]
    fn a_path_that_cannot_be_written_is_an_error_at_once() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("none/ready.json"), folder.path().into()] {
            let error = ReadyFile::prepare(&path).unwrap_err().to_string();
            let start = format!("--ready-file {}: cannot be written: ", path.display());
            assert!(error.starts_with(&start), "{error}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
