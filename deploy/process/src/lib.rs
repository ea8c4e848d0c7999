//! What both programs do as processes: settings from a file and the command line, logging, signals.

use std::{
    io::IsTerminal as _,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Why settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file is not there, or may not be read.
    #[error("cannot read the settings file {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file is not TOML, or has a key or value that the program does not know.
    #[error("{}: {error}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Line, column and reason.
        error: Box<toml::de::Error>,
    },
    /// The command line does not fit the same rules.
    #[error("cannot put the settings together: {0}")]
    Layering(String),
}

/// The settings of the file with those of the command line on top. `T` has an optional field for each key,
/// so that what nobody set stays open for the program's default.
pub fn layered<T: Serialize + DeserializeOwned>(
    command_line: &T,
    file: Option<&Path>,
) -> Result<T, SettingsError> {
    let layering = |error: &dyn std::fmt::Display| SettingsError::Layering(error.to_string());
    let on_top = toml::Table::try_from(command_line).map_err(|e| layering(&e))?;
    let mut settings = match file {
        Some(path) => read::<T>(path)?,
        None => toml::Table::new(),
    };
    settings.extend(on_top);
    settings.try_into().map_err(|e| layering(&e))
}

/// The file's keys, once they are known to be ones that `T` has.
fn read<T: DeserializeOwned>(path: &Path) -> Result<toml::Table, SettingsError> {
    let path_buf = || path.to_path_buf();
    let text = std::fs::read_to_string(path)
        .map_err(|error| SettingsError::Unreadable { path: path_buf(), error })?;
    let invalid = |error| SettingsError::Invalid { path: path_buf(), error: Box::new(error) };
    toml::from_str::<T>(&text).map_err(invalid)?;
    toml::from_str(&text).map_err(invalid)
}

/// Starts logging to standard error: sentences with key-values. `RUST_LOG` overrides the level.
pub fn start_logging(default_level: &str) {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default_level));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .init();
}

/// Waits until the process is asked to end; returns the name of the signal.
pub async fn asked_to_end() -> std::io::Result<&'static str> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Keys {
        name: Option<String>,
        size: Option<u32>,
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let file = file("name = 'a'\nsize = 1\n");
        let command_line = Keys { size: Some(2), ..Keys::default() };
        let settings = layered(&command_line, Some(file.path())).unwrap();
        assert_eq!(settings, Keys { name: Some("a".into()), size: Some(2) });
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let file = file("name = 'a'\nsizes = 1\n");
        let error = layered(&Keys::default(), Some(file.path())).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("`sizes`"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = layered(&Keys::default(), Some(Path::new("/nowhere.toml"))).unwrap_err();
        assert!(error.to_string().contains("/nowhere.toml"), "{error}");
    }
}
