//! Why nothing can be judged by a file.

use std::path::Path;

use crate::Rule::{self, N35};

/// Why nothing can be judged by a file.
#[derive(Debug, Clone)]
pub(crate) struct Unusable {
    /// The rule that this breaks; none where another finding says it.
    pub(crate) rule: Option<Rule>,
    /// What is wrong with the file, and what to do.
    pub(crate) why: String,
}

impl Unusable {
    /// A file that could not be read.
    pub(crate) fn unread(path: &Path, error: impl ToString) -> Self {
        // Who reads this knows the folder.
        let folder = path.parent().map(|folder| format!("{}/", folder.display()));
        let error = error.to_string().replace(&folder.unwrap_or_default(), "");
        Self::in_file(path, format!("cannot be read: {error}"))
    }

    /// A detail log in which nothing is logged.
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

/// What is said of anything that is not there.
pub(crate) const MISSING: &str = "is missing";

/// What is said of a file without content.
pub(crate) const EMPTY: &str = "is empty: fill or remove it";
