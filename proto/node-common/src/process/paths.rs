//! Paths in settings: relative to the file's folder in a settings file, else to the current folder.

use std::{
    any::TypeId,
    path::{self, Path, PathBuf},
};

use clap::Arg;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Function that replaces the paths in a value that contains more than a path. The function that it
/// receives returns the replacement of a path, or the reason why it is unusable.
pub type Replace =
    fn(&str, &mut dyn FnMut(&str) -> Result<String, String>) -> Result<String, String>;

/// Keys of a command that accepts a settings file.
pub trait Keys: clap::Args + Serialize + DeserializeOwned {
    /// Keys of all commands of the program that accept a settings file. They share a file: a key of
    /// another command has no effect.
    type All: Keys;
    /// Keys whose values contain more than a path, such as a name or a path. The type identifies
    /// values that are paths.
    const MIXED: &'static [(&'static str, Replace)] = <Self::All as Keys>::MIXED;
}

/// Keys of output paths. An old output in the current folder is not an error.
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
