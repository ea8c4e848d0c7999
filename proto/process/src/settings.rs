//! Settings from a file, under those of the command line and the environment.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use netdiv_words::{Todo, did_you_mean, todos, with_suggestion};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use toml::de::DeTable;

use crate::old_keys::{both, in_new_form};

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
    /// The file has placeholders, and nothing else has a value for their keys.
    #[error("{}", todos.iter().map(|todo| format!("{}, {todo}", path.display())).collect::<Vec<_>>().join("\n"))]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// The placeholders.
        todos: Vec<Todo>,
    },
    /// Settings cannot be printed.
    #[error("cannot print the settings: {0}")]
    Unprinted(String),
    /// The command line cannot be combined with the file.
    #[error("cannot put the settings together: {0}")]
    Layering(String),
}

/// The file's settings, overridden by those of command line and environment. `T` has an optional field for each key, so that
/// unset keys stay open for the program's default.
pub fn layered<T: clap::Args + Serialize + DeserializeOwned>(
    given: &T,
    file: Option<&Path>,
) -> Result<T, SettingsError> {
    over(given, file.map(read::<T>).transpose()?.unwrap_or_default())
}

/// What a settings file says.
#[derive(Debug, Default)]
pub(crate) struct FromFile {
    table: toml::Table,
    /// The line of each key.
    pub(crate) lines: BTreeMap<String, usize>,
    /// Placeholders; their keys are not in the table.
    todos: Vec<Todo>,
    path: PathBuf,
}

/// What is given, over what a file says.
pub(crate) fn over<T: Serialize + DeserializeOwned>(
    given: &T,
    file: FromFile,
) -> Result<T, SettingsError> {
    let layering = |error: &dyn std::fmt::Display| SettingsError::Layering(error.to_string());
    // As JSON, which has room for any number that the command line may hold.
    let mut settings = serde_json::to_value(file.table).map_err(|e| layering(&e))?;
    let on_top = serde_json::to_value(given).map_err(|e| layering(&e))?;
    let is_open = |todo: &Todo| on_top.get(&todo.key).is_none_or(Value::is_null);
    let todos: Vec<_> = file.todos.into_iter().filter(is_open).collect();
    if !todos.is_empty() {
        return Err(SettingsError::Unwritten { path: file.path, todos });
    }
    if let (Value::Object(settings), Value::Object(on_top)) = (&mut settings, on_top) {
        settings.extend(on_top.into_iter().filter(|(_, value)| !value.is_null()));
    }
    serde_json::from_value(settings).map_err(|e| layering(&e))
}

/// The file's keys, in their new form, after checking that `T` has each of them and accepts its value.
pub(crate) fn read<T: clap::Args + DeserializeOwned>(
    path: &Path,
) -> Result<FromFile, SettingsError> {
    let path_buf = || path.to_path_buf();
    let text = netdiv_resources::files::read_text(path)
        .map_err(|error| SettingsError::Unreadable { path: path_buf(), error })?;
    let not_toml = |error| SettingsError::NotToml { path: path_buf(), error: Box::new(error) };
    let table: toml::Table = toml::from_str(&text).map_err(not_toml)?;
    let known = T::augment_args(clap::Command::new(""));
    let keys: Vec<_> = known.get_arguments().map(|argument| argument.get_id().as_str()).collect();
    let mut file = FromFile { todos: todos(&text), path: path_buf(), ..FromFile::default() };
    for key in DeTable::parse(&text).map_err(not_toml)?.get_ref().keys() {
        let line = 1 + text[..key.span().start].matches('\n').count();
        let written = key.get_ref().to_string();
        let key = written.clone();
        let invalid = |why: String| SettingsError::Invalid { path: path_buf(), line, key, why };
        let Some(value) = table.get(&written) else { continue };
        let (key, value) = match in_new_form(&known, &written, value) {
            Some(Ok(new)) => new,
            Some(Err(why)) => return Err(invalid(why)),
            None => (written, value.clone()),
        };
        if !keys.contains(&key.as_str()) {
            let meant = did_you_mean(&key, keys);
            return Err(invalid(format!("there is no such setting{meant}; see --help")));
        }
        if file.table.contains_key(&key) {
            return Err(invalid(both(&key)));
        }
        if file.todos.iter().any(|todo| todo.key == key) {
            continue;
        }
        let only = toml::Table::from_iter([(key.clone(), value.clone())]);
        if let Err(error) = only.try_into::<T>() {
            return Err(invalid(with_suggestion(error.message())));
        }
        file.lines.insert(key.clone(), line);
        file.table.insert(key, value);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::TimeSpan;

    #[derive(Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
    struct Keys {
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        #[serde(flatten)]
        more: MoreKeys,
    }

    #[derive(Debug, Clone, PartialEq, clap::ValueEnum, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Colour {
        Red,
        Blue,
    }

    #[derive(Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
    struct MoreKeys {
        #[arg(long)]
        colour: Option<Colour>,
        #[arg(long)]
        size: Option<u32>,
        #[arg(long)]
        wait: Option<TimeSpan>,
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let wait = |millis| Some(TimeSpan::from_millis(millis));
        let more = |size, millis| MoreKeys { colour: None, size: Some(size), wait: wait(millis) };
        for wait in ["wait = '1ms'", "wait_ms = 1", "wait_us = 1000"] {
            let file = file(&format!("name = 'a'\nsize = 1\n{wait}\n"));
            let below = layered(&Keys::default(), Some(file.path())).unwrap();
            assert_eq!(below, Keys { name: Some("a".into()), more: more(1, 1) });
            let command_line = Keys { more: more(2, 2), ..Keys::default() };
            let settings = layered(&command_line, Some(file.path())).unwrap();
            assert_eq!(settings, Keys { name: Some("a".into()), more: more(2, 2) });
        }
    }

    #[test]
    fn a_key_that_is_wrong_is_named_with_its_line() {
        for (text, want) in [
            (
                "name = 'a'\nsizes = 1\n",
                "line 2: `sizes`: there is no such setting (did you mean size?); see --help",
            ),
            (
                "colour = 'rod'\n",
                "line 1: `colour`: unknown variant `rod`, expected `red` or `blue` (did you mean red?)",
            ),
            ("name_ms = 1\n", "line 1: `name_ms`: there is no such setting"),
            (
                "name = 'a'\n\nsize = 'b'\n",
                "line 3: `size`: invalid type: string \"b\", expected u32",
            ),
            ("name = ", "TOML parse error at line 1"),
            ("wait = 5", "line 1: `wait`: invalid type: integer `5`, expected a time with a unit"),
            ("wait = '5 parsecs'", "line 1: `wait`: `5 parsecs` is not a time"),
            (
                "wait_ms = '5s'",
                "line 1: `wait_ms`: it takes a whole number; or write wait = \"10ms\"",
            ),
            (
                "wait_ms = 5\nwait = '5ms'",
                "line 1: `wait_ms`: `wait` stands there twice, also as `wait_ms`",
            ),
            ("wait = '5ms'\nwait_us = 5", "line 2: `wait_us`: `wait` stands there twice"),
        ] {
            let file = file(text);
            let error = layered(&Keys::default(), Some(file.path())).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn placeholders_are_refused_all_at_once_unless_the_command_line_has_the_values() {
        let file = file("# A name.\nname = 'TODO-name'\nsize = 'TODO'\nwait = '5ms'\n");
        let read = |name: Option<&str>, size| {
            let more = MoreKeys { size, ..MoreKeys::default() };
            layered(&Keys { name: name.map(Into::into), more }, Some(file.path()))
        };
        let (path, error) = (file.path().display(), read(None, None).unwrap_err());
        let name = format!("{path}, line 2: name is still TODO: write it. A name.");
        let size = format!("{path}, line 3: size is still TODO: write it");
        assert_eq!(error.to_string(), format!("{name}\n{size}"));
        assert_eq!(read(Some("a"), None).unwrap_err().to_string(), size);
        assert_eq!(read(Some("a"), Some(1)).unwrap().more.size, Some(1));
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
