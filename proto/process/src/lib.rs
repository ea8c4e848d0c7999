//! The process side of both programs: settings from a file and the command line, logging, signals, cores.

mod limited;
mod shown;
mod signals;
mod units;

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use netdiv_contract::said::printable;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
pub use signals::{Signal, Signals};
use tokio::signal::unix::{SignalKind, signal};
use toml::de::DeTable;
use tracing_subscriber::{EnvFilter, fmt::format::Format};
pub use units::{ByteCount, TimeSpan};

use limited::{Limited, Places};
use shown::Shown;

/// Why settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file is missing or unreadable.
    #[error("cannot read the settings file {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The file is not TOML.
    #[error("{}: {error}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// Line, column and reason.
        error: Box<toml::de::Error>,
    },
    /// The file has an unknown key, or a value that its key does not accept.
    #[error("{}, line {line}: `{key}`: {why}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// The command line cannot be combined with the file.
    #[error("cannot put the settings together: {0}")]
    Layering(String),
}

/// The file's settings, overridden by those of the command line. `T` has an optional field for each key, so that
/// unset keys stay open for the program's default.
pub fn layered<T: clap::Args + Serialize + DeserializeOwned>(
    command_line: &T,
    file: Option<&Path>,
) -> Result<T, SettingsError> {
    let layering = |error: &dyn std::fmt::Display| SettingsError::Layering(error.to_string());
    let settings = match file {
        Some(path) => read::<T>(path)?,
        None => toml::Table::new(),
    };
    // As JSON, which has room for any number that the command line may hold.
    let mut settings = serde_json::to_value(settings).map_err(|e| layering(&e))?;
    let on_top = serde_json::to_value(command_line).map_err(|e| layering(&e))?;
    if let (Value::Object(settings), Value::Object(on_top)) = (&mut settings, on_top) {
        settings.extend(on_top.into_iter().filter(|(_, value)| !value.is_null()));
    }
    serde_json::from_value(settings).map_err(|e| layering(&e))
}

/// The file's keys, after checking that `T` has each of them and accepts its value.
fn read<T: clap::Args + DeserializeOwned>(path: &Path) -> Result<toml::Table, SettingsError> {
    let path_buf = || path.to_path_buf();
    let text = netdiv_resources::files::read_text(path)
        .map_err(|error| SettingsError::Unreadable { path: path_buf(), error })?;
    let not_toml = |error| SettingsError::NotToml { path: path_buf(), error: Box::new(error) };
    let table: toml::Table = toml::from_str(&text).map_err(not_toml)?;
    let known = T::augment_args(clap::Command::new(""));
    for key in DeTable::parse(&text).map_err(not_toml)?.get_ref().keys() {
        let line = 1 + text[..key.span().start].matches('\n').count();
        let key = key.get_ref().to_string();
        let invalid =
            |why: String| SettingsError::Invalid { path: path_buf(), line, key: key.clone(), why };
        if !known.get_arguments().any(|argument| argument.get_id() == key.as_str()) {
            return Err(invalid("there is no such setting; see --help".into()));
        }
        let only =
            toml::Table::from_iter(table.get(&key).map(|value| (key.clone(), value.clone())));
        only.try_into::<T>().map_err(|error| invalid(error.message().into()))?;
    }
    Ok(table)
}

/// How much a process may log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Everything: the lines are what the program has to say, and it ends after them.
    All,
    /// A few lines a second from each place in the code: others decide what happens, for as long as the process lives.
    FewASecond,
}

/// The log, until the process ends: what it still has to say, it says when this is dropped.
#[derive(Debug)]
pub struct Logging(Option<Places>);

impl Drop for Logging {
    fn drop(&mut self) {
        if let Some(places) = &self.0 {
            places.say_left_out();
        }
    }
}

/// Starts logging to standard error: sentences with key-values. `RUST_LOG` overrides the level.
pub fn start_logging(default_level: &str, lines: Lines) -> Logging {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default_level));
    let colours = io::stderr().is_terminal();
    let logging = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || Shown { to: io::stderr(), colours })
        .with_ansi(colours)
        // It would panic if standard error is closed.
        .log_internal_errors(false);
    match lines {
        Lines::All => {
            logging.init();
            Logging(None)
        }
        Lines::FewASecond => {
            let limited = Limited::new(Format::default());
            let places = limited.places();
            logging.event_format(limited).init();
            places.count_aloud();
            Logging(Some(places))
        }
    }
}

/// Prints lines to standard output; what is not shown, such as a peer's control characters, is escaped. A closed pipe
/// is not an error: the reader may have ended.
pub fn say(text: impl std::fmt::Display) -> io::Result<()> {
    match writeln!(io::stdout(), "{}", printable(&text.to_string())) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Waits until the process is asked to end; returns the name of the signal.
pub async fn asked_to_end() -> io::Result<&'static str> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
    })
}

/// Calls `reload` on each SIGHUP, which tells the process to reload its files.
pub async fn on_hangup(mut reload: impl FnMut()) -> io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    while hangup.recv().await.is_some() {
        reload();
    }
    Ok(())
}

/// Binds the calling thread to one of these cores: thread `number` to the core at that place, modulo their count.
/// Without cores it may run anywhere.
pub fn pin(cores: &[usize], number: usize) {
    if let Some(core) = cores.get(number % cores.len().max(1)) {
        core_affinity::set_for_current(core_affinity::CoreId { id: *core });
    }
}

/// Checks that this process may run on these cores.
pub fn check_cores(cores: &[usize]) -> Result<(), String> {
    let allowed = core_affinity::get_core_ids().unwrap_or_default();
    match cores.iter().find(|core| !allowed.iter().any(|allowed| allowed.id == **core)) {
        None => Ok(()),
        Some(core) => {
            let ids: Vec<_> = allowed.iter().map(|core| core.id.to_string()).collect();
            Err(format!("this process may not use core {core}, only: {}", ids.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
    struct Keys {
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        #[serde(flatten)]
        more: MoreKeys,
    }

    #[derive(Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
    struct MoreKeys {
        #[arg(long)]
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
        let size = |size| MoreKeys { size: Some(size) };
        let command_line = Keys { more: size(2), ..Keys::default() };
        let settings = layered(&command_line, Some(file.path())).unwrap();
        assert_eq!(settings, Keys { name: Some("a".into()), more: size(2) });
    }

    #[test]
    fn a_key_that_is_wrong_is_named_with_its_line() {
        for (text, want) in [
            ("name = 'a'\nsizes = 1\n", "line 2: `sizes`: there is no such setting"),
            (
                "name = 'a'\n\nsize = 'b'\n",
                "line 3: `size`: invalid type: string \"b\", expected u32",
            ),
            ("name = ", "TOML parse error at line 1"),
        ] {
            let file = file(text);
            let error = layered(&Keys::default(), Some(file.path())).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn a_file_that_never_ends_is_refused_by_its_kind() {
        let error = layered(&Keys::default(), Some(Path::new("/dev/zero"))).unwrap_err();
        assert!(error.to_string().contains("settings file /dev/zero: it is a device"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = layered(&Keys::default(), Some(Path::new("/nowhere.toml"))).unwrap_err();
        assert!(error.to_string().contains("/nowhere.toml"), "{error}");
    }
}
