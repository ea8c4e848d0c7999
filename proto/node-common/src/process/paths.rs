//! Paths in settings: relative to the file's folder in a settings file, else to the current folder.

use std::{
    any::TypeId,
    path::{self, Path, PathBuf},
};

use clap::Arg;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Function that returns a value, its first argument, with the paths in it replaced. Its second
/// argument returns the replacement of a path, or the reason why the path is unusable.
pub type Replace =
    fn(&str, &mut dyn FnMut(&str) -> Result<String, String>) -> Result<String, String>;

/// Settings of a command that accepts a settings file. Each field is a key of the file.
pub trait Keys: clap::Args + Serialize + DeserializeOwned {
    /// Keys of all commands of the program that accept a settings file. They share a file: a key of
    /// another command has no effect.
    type All: Keys;
    /// Keys whose values may contain paths but are no plain paths, such as the name of a data set.
    /// Each has the function that replaces the paths in a value. A plain path needs no entry: its
    /// type is `PathBuf`.
    const MIXED: &'static [(&'static str, Replace)] = <Self::All as Keys>::MIXED;

    /// Returns the faults of a file that the settings name and that may have placeholders, too. They
    /// are reported together with the placeholders of the settings file.
    fn faults_of_files(&self) -> Option<String> {
        None
    }
}

/// Keys of paths that a command writes. A path of this name in the current folder may be the output
/// of an earlier run, so it is not an error.
const OUTPUT_KEYS: [&str; 3] = ["json", "output", "ready_file"];

/// Returns the value of a key, with the paths in it replaced by `place`.
pub(crate) fn replace_paths<T: Keys>(
    key: &Arg,
    value: Value,
    place: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Value, String> {
    let mixed = T::MIXED.iter().find(|(mixed, _)| key.get_id() == *mixed);
    let replace: Replace = match mixed {
        Some((_, replace)) => *replace,
        None if key.get_value_parser().type_id() == TypeId::of::<PathBuf>() => replace_path,
        None => return Ok(value),
    };
    match value {
        Value::String(text) => replace(&text, place).map(Value::String),
        Value::Array(values) => {
            let values = values.into_iter().map(|value| replace_paths::<T>(key, value, place));
            values.collect::<Result<_, _>>().map(Value::Array)
        }
        other => Ok(other),
    }
}

/// Replaces a value that is a path. `-` means standard output and is not replaced.
fn replace_path(
    text: &str,
    place: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    if text == "-" { Ok(text.into()) } else { place(text) }
}

/// Returns the path that a settings file names, relative to the file's folder. An empty value stays
/// empty, and its reader refuses it.
pub(crate) fn resolve_in_folder(file: &Path, key: &str, text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let place = file.parent().unwrap_or(Path::new("")).join(text);
    let is_old = !OUTPUT_KEYS.contains(&key) && !place.exists() && Path::new(text).exists();
    if is_old {
        let file = file.file_name().unwrap_or_default().display();
        return Err(format!(
            "{text} is relative to the folder of {file}, no longer to the current folder, and does not exist there; it exists \
             relative to the current folder: write {}",
            absolute(text)?
        ));
    }
    place.into_os_string().into_string().map_err(|_| "the folder of the file is not UTF-8".into())
}

/// Returns the absolute path, or the path itself if the current folder is unknown.
pub fn absolute(text: &str) -> Result<String, String> {
    let Ok(path) = path::absolute(text) else { return Ok(text.into()) };
    path.into_os_string().into_string().map_err(|_| "the current folder is not UTF-8".into())
}
