//! `--ready-file`: the addresses of the node, for the program that started it. `docs/OPERATING.md`
//! describes the file.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
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
    pub(crate) fn prepare(path: &Path) -> anyhow::Result<Self> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let file = Self { path: path.into(), temporary: path.with_file_name(name), written: None };
        let prepared = match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::write(&file.temporary, ""),
        };
        prepared.with_context(|| file.fault())?;
        Ok(file)
    }

    /// Writes the file, which tells other programs that the node accepts calls.
    pub(crate) fn publish(&mut self, ready: &ReadyContent<'_>) -> anyhow::Result<()> {
        let text = serde_json::to_string(ready)? + "\n";
        let written = fs::write(&self.temporary, &text)
            .and_then(|()| fs::rename(&self.temporary, &self.path));
        self.written = Some(text);
        written.with_context(|| self.fault())
    }

    fn fault(&self) -> String {
        format!("--ready-file {}: cannot be written", self.path.display())
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
            let error = format!("{:#}", ReadyFile::prepare(&path).unwrap_err());
            let start = format!("--ready-file {}: cannot be written: ", path.display());
            assert!(error.starts_with(&start), "{error}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
