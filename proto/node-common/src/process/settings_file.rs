//! Settings files: the values of keys, as the command line would have them. Their paths are
//! relative to the file's folder, other paths to the current folder.

use std::{
    any::TypeId,
    collections::{BTreeMap, BTreeSet},
    path::{self, Path, PathBuf},
};

use clap::{Arg, ArgAction, Command};
use serde::Serialize;
use toml::{Value, de::DeTable};

use crate::words::{did_you_mean, todos};

/// Error of settings.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub(crate) String);

#[derive(Debug, Default)]
pub(crate) struct FileSettings {
    /// Values of each key of the command.
    pub(crate) values: BTreeMap<String, Vec<String>>,
    /// Line of each key in the file, from 1.
    pub(crate) lines: BTreeMap<String, usize>,
    /// Keys that have placeholders instead of values, each with the reason to refuse it.
    pub(crate) todos: Vec<(String, String)>,
}

/// Returns the reason why `key` is not allowed in a settings table. Returns `None` if `T` has an
/// option of that name.
pub fn unknown_key<T: clap::Args>(key: &str) -> Option<String> {
    let known = T::augment_args(Command::new(""));
    let keys: BTreeSet<_> = known.get_arguments().map(|option| option.get_id().as_str()).collect();
    let is_unknown = !keys.contains(&key);
    is_unknown.then(|| format!("there is no such setting{}", did_you_mean(key, keys)))
}

/// Reads the keys of a file. Fails if a key belongs to no command of the program, or has an invalid
/// value. Ignores keys of other commands. Resolves paths relative to the file's folder.
pub(crate) fn read<T: Keys>(path: &Path) -> Result<FileSettings, SettingsError> {
    let shown = path.display();
    let text = crate::resources::files::read_toml(path).map_err(|error| {
        SettingsError(format!("cannot read the settings file {shown}: {error}"))
    })?;
    let not_toml = |error: toml::de::Error| SettingsError(format!("{shown}: {error}"));
    let table: toml::Table = toml::from_str(&text).map_err(not_toml)?;
    let own = T::augment_args(Command::new(""));
    let all = <T::All as clap::Args>::augment_args(Command::new(""));
    let mut file = FileSettings::default();
    let todos = todos(&text);
    for key in DeTable::parse(&text).map_err(not_toml)?.get_ref().keys() {
        let line = 1 + text[..key.span().start].matches('\n').count();
        let key = key.get_ref().to_string();
        let invalid = |why: String| SettingsError(format!("{shown}, line {line}: `{key}`: {why}"));
        let Some(value) = table.get(&key) else { continue };
        let Some(option) = all.get_arguments().find(|option| option.get_id() == key.as_str())
        else {
            let why = unknown_key::<T::All>(&key).unwrap_or_default();
            return Err(invalid(format!("{why}; see --help")));
        };
        file.lines.insert(key.clone(), line);
        // A command does not need the values of other commands.
        let is_own = own.get_arguments().any(|option| option.get_id() == key.as_str());
        let mut of_key = todos.iter().filter(|todo| todo.top == key).peekable();
        if of_key.peek().is_some() {
            let of_key = of_key.filter(|_| is_own);
            file.todos.extend(of_key.map(|todo| (key.clone(), format!("{shown}, {todo}"))));
            continue;
        }
        let values = texts(option, value).map_err(invalid)?;
        if is_own {
            let place = &mut |text: &str| resolve_in_folder(path, text);
            let values = values.iter().map(|text| replace_paths::<T>(option, text, place));
            let values = values.collect::<Result<_, _>>().map_err(invalid)?;
            file.values.insert(key.clone(), values);
        }
    }
    Ok(file)
}

/// Returns the values of an option in a file, as texts. Fails if the option does not accept them.
fn texts(option: &Arg, value: &Value) -> Result<Vec<String>, String> {
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Array(_) | Value::Table(_) => Err("expected a single value".to_owned()),
        other => Ok(other.to_string()),
    };
    let texts = match value {
        Value::Array(values) if matches!(option.get_action(), ArgAction::Append) => {
            values.iter().map(text).collect::<Result<Vec<_>, _>>()?
        }
        value => vec![text(value)?],
    };
    let long = option.get_long().unwrap_or_default();
    let command = Command::new("").no_binary_name(true).disable_help_flag(true);
    let given = texts.iter().map(|text| format!("--{long}={text}"));
    match command.arg(option.clone()).try_get_matches_from(given) {
        Ok(_) => Ok(texts),
        Err(error) => Err(one_line(&error)),
    }
}

/// Returns the text of an error of the command line, without line breaks.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let words: Vec<_> = text.trim_start_matches("error: ").split_whitespace().collect();
    words.join(" ")
}

/// Function that returns a value, its first argument, with the paths in it replaced. Its second
/// argument returns the replacement of a path, or the reason why the path is unusable.
pub type Replace =
    fn(&str, &mut dyn FnMut(&str) -> Result<String, String>) -> Result<String, String>;

/// Settings of a command that accepts a settings file. Each field is a key of the file.
pub trait Keys: clap::Args + Serialize {
    /// Keys of all commands of the program that accept a settings file. They share a file: a key of
    /// another command has no effect.
    type All: Keys;
    /// Keys whose values may contain paths but are not plain paths, such as the name of a data set.
    /// Each has the function that replaces the paths in a value. A plain path needs no entry: its
    /// type is `PathBuf`.
    const MIXED: &'static [(&'static str, Replace)] = <Self::All as Keys>::MIXED;

    /// Returns the faults of a file that the settings name and that may have placeholders, too.
    /// They are reported together with the placeholders of the settings file.
    fn faults_of_files(&self) -> Option<String> {
        None
    }
}

/// Returns a value of a key, with the paths in it replaced by `place`.
pub(crate) fn replace_paths<T: Keys>(
    key: &Arg,
    value: &str,
    place: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    let is_path = key.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    match T::MIXED.iter().find(|(mixed, _)| key.get_id() == *mixed) {
        Some((_, replace)) => replace(value, place),
        // `-` means standard output.
        None if is_path && value != "-" => place(value),
        None => Ok(value.into()),
    }
}

/// Returns the path that a settings file names, relative to the file's folder. An empty value stays
/// empty, and its reader refuses it.
fn resolve_in_folder(file: &Path, text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let place = file.parent().unwrap_or(Path::new("")).join(text);
    place.into_os_string().into_string().map_err(|_| "the folder of the file is not UTF-8".into())
}

/// Returns the absolute path, or the path itself if the current folder is unknown.
pub fn absolute(text: &str) -> Result<String, String> {
    let Ok(path) = path::absolute(text) else { return Ok(text.into()) };
    path.into_os_string().into_string().map_err(|_| "the current folder is not UTF-8".into())
}
