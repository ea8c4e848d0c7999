//! Paths in settings: relative to the file's folder in a settings file, else to the current folder.

use std::{
    any::TypeId,
    path::{self, Path, PathBuf},
};

use clap::Arg;
use serde::Serialize;

/// Function that returns a value, its first argument, with the paths in it replaced. Its second
/// argument returns the replacement of a path, or the reason why the path is unusable.
pub type Replace =
    fn(&str, &mut dyn FnMut(&str) -> Result<String, String>) -> Result<String, String>;

/// Settings of a command that accepts a settings file. Each field is a key of the file.
pub trait Keys: clap::Args + Serialize {
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
pub(crate) fn resolve_in_folder(file: &Path, text: &str) -> Result<String, String> {
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
