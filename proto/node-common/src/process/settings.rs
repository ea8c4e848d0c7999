//! Settings from a file, overridden by the command line and the environment.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use crate::{
    process::paths::{Keys, absolute, replace_paths, resolve_in_folder},
    words::{Todo, did_you_mean, todos, with_suggestion},
};
use clap::Command;
use serde_json::{Map, Value};
use toml::de::DeTable;

/// Error of settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file is missing or unreadable.
    #[error("cannot read the settings file {}: {error}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Error that the system reported.
        error: io::Error,
    },
    /// The file is not valid TOML.
    #[error("{}: {error}", path.display())]
    NotToml {
        /// Path of the file.
        path: PathBuf,
        /// Line, column and reason.
        error: Box<toml::de::Error>,
    },
    /// The file has an unknown key, or a value that its key does not accept.
    #[error("{}, line {line}: `{key}`: {why}", path.display())]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Key with the error.
        key: String,
        /// Reason.
        why: String,
    },
    /// The file has placeholders, and neither command line nor environment has values for their
    /// keys.
    #[error("{}", todos.iter().map(|todo| format!("{}, {todo}", path.display())).chain(more.clone()).collect::<Vec<_>>().join("\n"))]
    Placeholders {
        /// Path of the file.
        path: PathBuf,
        /// Placeholders without a value.
        todos: Vec<Todo>,
        /// Faults of files that the settings name ([`Keys::faults_of_files`]).
        more: Option<String>,
    },
    /// Settings cannot be printed.
    #[error("cannot print the settings: {0}")]
    Unprinted(String),
    /// The command line cannot be combined with the file.
    #[error("cannot combine the settings: {0}")]
    Layering(String),
}

/// Returns the file's settings, overridden by `given`: the settings of the command line and the
/// environment. `T` has an optional field for each key, so that unset keys keep the program's
/// default.
pub fn merge_settings<T: Keys>(given: &T, file: Option<&Path>) -> Result<T, SettingsError> {
    override_with(given, file.map(read::<T>).transpose()?.unwrap_or_default())
}

/// Returns the settings with absolute paths, which are valid in every folder.
pub fn with_absolute_paths<T: Keys>(settings: &T) -> Result<T, SettingsError> {
    let failed = |error: &dyn std::fmt::Display| SettingsError::Layering(error.to_string());
    let mut settings = serde_json::to_value(settings).map_err(|e| failed(&e))?;
    for key in T::augment_args(Command::new("")).get_arguments() {
        if let Some(value) = settings.get_mut(key.get_id().as_str()) {
            *value =
                replace_paths::<T>(key, value.take(), &mut absolute).map_err(|e| failed(&e))?;
        }
    }
    serde_json::from_value(settings).map_err(|e| failed(&e))
}

/// Returns the reason why `key` is not allowed in a settings table. Returns `None` if `T` has an
/// option of that name.
pub fn unknown_key<T: clap::Args>(key: &str) -> Option<String> {
    let known = T::augment_args(Command::new(""));
    let keys: Vec<_> = known.get_arguments().map(|option| option.get_id().as_str()).collect();
    let is_unknown = !keys.contains(&key);
    is_unknown.then(|| format!("there is no such setting{}", did_you_mean(key, keys)))
}

/// Content of a settings file.
#[derive(Debug, Default)]
pub(crate) struct FileSettings {
    /// Keys and values, as JSON, which can represent any number that the command line accepts.
    settings: Map<String, Value>,
    /// Line of each key in the file, from 1.
    pub(crate) lines: BTreeMap<String, usize>,
    /// Placeholders. Their keys are not in `settings`.
    todos: Vec<Todo>,
    path: PathBuf,
}

/// Returns the settings of a file, overridden by the settings `given`.
pub(crate) fn override_with<T: Keys>(given: &T, file: FileSettings) -> Result<T, SettingsError> {
    let layering = |error: &dyn std::fmt::Display| SettingsError::Layering(error.to_string());
    let on_top = serde_json::to_value(given).map_err(|e| layering(&e))?;
    let is_open = |todo: &Todo| on_top.get(&todo.top).is_none_or(Value::is_null);
    let todos: Vec<_> = file.todos.into_iter().filter(is_open).collect();
    let mut settings = file.settings;
    if let Value::Object(on_top) = on_top {
        settings.extend(on_top.into_iter().filter(|(_, value)| !value.is_null()));
    }
    let settings = serde_json::from_value::<T>(settings.into()).map_err(|e| layering(&e));
    if todos.is_empty() {
        return settings;
    }
    let more = settings.ok().and_then(|settings| settings.faults_of_files());
    Err(SettingsError::Placeholders { path: file.path, todos, more })
}

/// Reads the keys of a file. Fails if a key belongs to no command of the program, or has an invalid
/// value. Ignores keys of other commands. Resolves paths relative to the file's folder.
pub(crate) fn read<T: Keys>(path: &Path) -> Result<FileSettings, SettingsError> {
    let path_buf = || path.to_path_buf();
    let text = crate::resources::files::read_toml(path)
        .map_err(|error| SettingsError::Unreadable { path: path_buf(), error })?;
    let not_toml = |error| SettingsError::NotToml { path: path_buf(), error: Box::new(error) };
    let table: toml::Table = toml::from_str(&text).map_err(not_toml)?;
    let own = T::augment_args(Command::new(""));
    let mut file = FileSettings { path: path_buf(), ..FileSettings::default() };
    let todos = todos(&text);
    for key in DeTable::parse(&text).map_err(not_toml)?.get_ref().keys() {
        let line = 1 + text[..key.span().start].matches('\n').count();
        let key = key.get_ref().to_string();
        let invalid = |why: String| {
            let key = key.clone();
            SettingsError::Invalid { path: path_buf(), line, key, why }
        };
        let Some(value) = table.get(&key) else { continue };
        if let Some(why) = unknown_key::<T::All>(&key) {
            return Err(invalid(format!("{why}; see --help")));
        }
        file.lines.insert(key.clone(), line);
        // A command does not need the values of other commands.
        let own_option = own.get_arguments().find(|option| option.get_id() == key.as_str());
        let mut of_key = todos.iter().filter(|todo| todo.top == key).peekable();
        if of_key.peek().is_some() {
            file.todos.extend(of_key.filter(|_| own_option.is_some()).cloned());
            continue;
        }
        let only = toml::Table::from_iter([(key.clone(), value.clone())]);
        if let Err(error) = only.try_into::<T::All>() {
            return Err(invalid(with_suggestion(error.message())));
        }
        if let Some(option) = own_option {
            let value = serde_json::to_value(value).map_err(|error| invalid(error.to_string()))?;
            let place = &mut |text: &str| resolve_in_folder(path, &key, text);
            let value = replace_paths::<T>(option, value, place).map_err(invalid)?;
            file.settings.insert(key, value);
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::process::TimeSpan;

    #[derive(Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
    struct Own {
        #[arg(long)]
        name: Option<String>,
        #[arg(long)]
        data: Option<PathBuf>,
        #[arg(long)]
        output: Option<PathBuf>,
        #[arg(long)]
        hosts: Option<Vec<String>>,
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

    /// Keys of another command, and the common keys.
    #[derive(Debug, Default, clap::Args, Serialize, Deserialize)]
    struct All {
        #[command(flatten)]
        #[serde(flatten)]
        own: Own,
        #[arg(long)]
        rounds: Option<u32>,
        #[arg(long)]
        labels: Option<PathBuf>,
    }

    impl Keys for Own {
        type All = All;
    }

    impl Keys for All {
        type All = Self;
        const MIXED: &'static [(&'static str, crate::process::Replace)] =
            &[("hosts", |text, place| {
                text.strip_prefix('@')
                    .map_or(Ok(text.into()), |path| Ok(format!("@{}", place(path)?)))
            })];
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
        let file = file("name = 'a'\nsize = 1\nwait = '1ms'\n");
        let below = merge_settings(&Own::default(), Some(file.path())).unwrap();
        assert_eq!(below, Own { name: Some("a".into()), more: more(1, 1), ..Own::default() });
        let command_line = Own { more: more(2, 2), ..Own::default() };
        let settings = merge_settings(&command_line, Some(file.path())).unwrap();
        assert_eq!(settings, Own { name: Some("a".into()), ..command_line });
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
            (
                "\ndata = 2024-01-01",
                "line 2: data is the date or time 2024-01-01; write \"2024-01-01\"",
            ),
            ("wait = 5", "line 1: `wait`: invalid type: integer `5`, expected a time with a unit"),
            ("wait = '5 parsecs'", "line 1: `wait`: `5 parsecs` is not a time"),
        ] {
            let file = file(text);
            let error = merge_settings(&Own::default(), Some(file.path())).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn placeholders_are_refused_all_at_once_unless_the_command_line_has_the_values() {
        let file = file(
            "# A name.\nname = 'TODO-name'\nsize = 'TODO'\nwait = '5ms'\nhosts = ['TODO',\n'a', 'TODO']\n",
        );
        let read = |name: Option<&str>, size| {
            let more = MoreKeys { size, ..MoreKeys::default() };
            let hosts = Some(vec!["a".into()]);
            let own = Own { name: name.map(Into::into), more, hosts, ..Own::default() };
            merge_settings(&own, Some(file.path()))
        };
        let all = merge_settings(&Own::default(), Some(file.path())).unwrap_err().to_string();
        assert_eq!(all.lines().count(), 4, "{all}");
        assert!(all.contains("line 5: hosts is still") && all.contains("line 6: hosts"), "{all}");
        let (path, error) = (file.path().display(), read(None, None).unwrap_err());
        let name = format!("{path}, line 2: name is still TODO: write it. A name.");
        let size = format!("{path}, line 3: size is still TODO: write it");
        assert_eq!(error.to_string(), format!("{name}\n{size}"));
        assert_eq!(read(Some("a"), None).unwrap_err().to_string(), size);
        assert_eq!(read(Some("a"), Some(1)).unwrap().more.size, Some(1));
    }

    #[test]
    fn keys_of_other_commands_are_checked_and_have_no_effect() {
        let with_others = file("name = 'a'\nrounds = 3\nlabels = 'nowhere'\n");
        let read = merge_settings(&Own::default(), Some(with_others.path())).unwrap();
        assert_eq!(read, Own { name: Some("a".into()), ..Own::default() });
        for (text, want) in [
            ("round = 3\n", "there is no such setting (did you mean rounds?)"),
            ("rounds = 'many'\n", "line 1: `rounds`: invalid type: string \"many\""),
        ] {
            let file = file(text);
            let error = merge_settings(&Own::default(), Some(file.path())).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn paths_of_a_file_are_relative_to_its_folder_and_given_ones_to_the_current_one() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("settings.toml");
        let at = |name: &str| Some(folder.path().join(name));
        let read = |text: &str, given: &Own| {
            std::fs::write(&config, text).unwrap();
            merge_settings(given, Some(&config)).map_err(|error| error.to_string())
        };
        let text = "data = 'd/x'\noutput = 'src'\nhosts = ['a', '@list']\nname = 'src'\n";
        let own = read(text, &Own::default()).unwrap();
        // `name` is not a path, and an output folder may also exist in the current folder.
        assert_eq!((own.data, own.output), (at("d/x"), at("src")));
        let hosts = vec!["a".to_owned(), format!("@{}", folder.path().join("list").display())];
        assert_eq!((own.hosts, own.name), (Some(hosts), Some("src".into())));
        let absolute = read("data = '/d/x'\noutput = '-'\n", &Own::default()).unwrap();
        assert_eq!(absolute.data, Some("/d/x".into()));
        assert_eq!(absolute.output, Some("-".into()));
        let given = Own { data: Some("here".into()), ..Own::default() };
        assert_eq!(read("data = 'there'", &given).unwrap().data, given.data);
        // A path that is relative to the current folder, as in earlier releases.
        for text in ["data = 'Cargo.toml'", "hosts = ['@Cargo.toml']"] {
            let error = read(text, &Own::default()).unwrap_err();
            let here = std::env::current_dir().unwrap().join("Cargo.toml");
            let want = format!(
                "Cargo.toml is relative to the folder of settings.toml, no longer to the current folder, and does not exist \
                 there; it exists relative to the current folder: write {}",
                here.display()
            );
            assert!(error.contains("line 1: `") && error.contains(&want), "{error}");
        }
        std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        assert_eq!(read("data = 'Cargo.toml'", &Own::default()).unwrap().data, at("Cargo.toml"));
    }

    #[test]
    fn settings_with_absolute_paths_mean_the_same_in_every_folder() {
        let here = std::env::current_dir().unwrap();
        let own = Own {
            name: Some("src".into()),
            data: Some("src".into()),
            output: Some("-".into()),
            hosts: Some(vec!["a".into(), "@src".into()]),
            more: MoreKeys { size: Some(u32::MAX), ..MoreKeys::default() },
        };
        let want = Own {
            data: Some(here.join("src")),
            hosts: Some(vec!["a".into(), format!("@{}", here.join("src").display())]),
            name: own.name.clone(),
            output: own.output.clone(),
            more: MoreKeys { size: Some(u32::MAX), ..MoreKeys::default() },
        };
        assert_eq!(with_absolute_paths(&own).unwrap(), want);
    }

    #[test]
    fn a_file_that_never_ends_is_refused_by_its_kind() {
        let error = merge_settings(&Own::default(), Some(Path::new("/dev/zero"))).unwrap_err();
        assert!(error.to_string().contains("settings file /dev/zero: it is a device"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = merge_settings(&Own::default(), Some(Path::new("/nowhere.toml"))).unwrap_err();
        assert!(error.to_string().contains("/nowhere.toml"), "{error}");
    }
}
