//! Faults of the settings and of the files that they name, collected until all are known.

use netdiv_node_common::words::is_todo;

use super::{gap::Gap, submission_toml::Settings};
use crate::placeholder::is_placeholder;

/// Gaps, in the order in which they are found.
#[derive(Debug, Default)]
pub(super) struct Problems {
    /// The name of the settings' file.
    settings: String,
    gaps: Vec<Gap>,
}

impl Problems {
    /// Begins with the placeholders in the settings' file.
    pub(super) fn of(settings: &Settings) -> Self {
        let mut problems = Self { settings: settings.file.clone(), gaps: Vec::new() };
        settings.todos.iter().for_each(|todo| problems.fault(todo.to_string()));
        problems
    }

    /// Adds a gap in the settings; the text says what to do.
    pub(super) fn fault(&mut self, text: impl Into<String>) {
        self.fault_in(self.settings.clone(), text);
    }

    /// Adds a gap in another file, or in a folder.
    pub(super) fn fault_in(&mut self, file: impl ToString, text: impl Into<String>) {
        let gap = Gap { file: Some(file.to_string()), text: text.into() };
        if !self.gaps.contains(&gap) {
            self.gaps.push(gap);
        }
    }

    /// Returns the text, or adds a gap that says what to write in place of nothing or a placeholder. Placeholders of
    /// `loadgen-node init` are gaps already, in [`Problems::of`].
    pub(super) fn need<'a>(&mut self, value: &'a Option<String>, what: &str) -> &'a str {
        match value.as_deref() {
            Some(text) if is_todo(text) => {}
            Some(text) if !is_placeholder(text) => return text.trim(),
            None => self.fault(what),
            Some(text) if text.trim().is_empty() => self.fault(what),
            Some(text) => self.fault(format!("`{}` says nothing: {what}", text.trim())),
        }
        ""
    }

    /// Returns all gaps.
    pub(super) fn gaps(self) -> Vec<Gap> {
        self.gaps
    }
}
