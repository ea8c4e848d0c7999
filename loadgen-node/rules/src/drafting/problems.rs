//! List of the faults in the settings and in the files that the settings name, so that all of them
//! are reported at once.

use netdiv_node_common::words::is_todo;

use super::{gap::Gap, submission_toml::SubmissionSettings};
use crate::placeholder::is_placeholder;

/// Gaps found so far, in the order of their discovery. A gap is a fault that prevents a submission.
#[derive(Debug, Default)]
pub(super) struct Problems {
    /// Name of the settings file.
    settings: String,
    gaps: Vec<Gap>,
}

impl Problems {
    /// Creates a list with a gap for each placeholder of `loadgen-node init` in the settings file.
    pub(super) fn of(settings: &SubmissionSettings) -> Self {
        let mut problems = Self { settings: settings.file.clone(), gaps: Vec::new() };
        settings.todos.iter().for_each(|todo| problems.fault(todo.to_string()));
        problems
    }

    /// Adds a gap in the settings; the text contains the remedy.
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

    /// Returns the text of `value`. If the text is missing or a placeholder, adds a gap with the
    /// remedy `what` and returns an empty text. A placeholder of `loadgen-node init` adds no gap
    /// here, because [`Problems::of`] adds it.
    pub(super) fn need<'a>(&mut self, value: &'a Option<String>, what: &str) -> &'a str {
        match value.as_deref() {
            Some(text) if is_todo(text) => {}
            Some(text) if !is_placeholder(text) => return text.trim(),
            None => self.fault(what),
            Some(text) if text.trim().is_empty() => self.fault(what),
            Some(text) => self.fault(format!("`{}` is a placeholder: {what}", text.trim())),
        }
        ""
    }

    /// Returns all gaps.
    pub(super) fn gaps(self) -> Vec<Gap> {
        self.gaps
    }
}
