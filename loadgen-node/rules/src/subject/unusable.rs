//! Reasons why a file is unusable for judging.

use std::path::Path;

use crate::{
    Rule::{self, N35},
    input::files,
    record::RunResult,
};

#[derive(Debug, Clone)]
pub(crate) struct UnusableFile {
    /// Rule that the file breaks; `None` if another finding reports that.
    pub(crate) rule: Option<Rule>,
    /// Fault of the file, and its remedy.
    pub(crate) why: String,
}

impl UnusableFile {
    /// Creates the reason for a file that could not be read.
    pub(crate) fn unread(path: &Path, error: impl ToString) -> Self {
        // The finding names the folder, so the error need not repeat it.
        let folder = path.parent().map(|folder| format!("{}/", folder.display()));
        let error = error.to_string().replace(&folder.unwrap_or_default(), "");
        Self::in_file(path, format!("cannot be read: {error}"))
    }

    pub(crate) fn without_entries(path: &Path) -> Self {
        Self::in_file(path, "has no entry (:::MLLOG): submit the log as LoadGen wrote it")
    }

    fn in_file(path: &Path, why: impl Into<String>) -> Self {
        match path.metadata() {
            Err(_) => Self::of(N35, MISSING),
            Ok(file) if file.is_file() && file.len() == 0 => Self::of(N35, EMPTY),
            Ok(_) => Self::of(N35, why),
        }
    }

    pub(crate) fn of(rule: Rule, why: impl Into<String>) -> Self {
        Self { rule: Some(rule), why: why.into() }
    }
}

/// Returns true if a file's SHA-256 is not the one that the run recorded.
pub(crate) fn is_changed(folder: &Path, name: &str, record: &RunResult) -> bool {
    let here = files::sha256(&folder.join(name)).ok();
    here.zip(record.logs.get(name)).is_some_and(|(here, recorded)| here != *recorded)
}

pub(crate) const MISSING: &str = "is missing";

pub(crate) const EMPTY: &str = "is empty: fill or remove it";
