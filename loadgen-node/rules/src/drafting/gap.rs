//! Faults that prevent a submission, and a list of them, so that all are reported at once.

use std::fmt::{self, Write as _};

use netdiv_node_common::words::{Todo, is_todo};

use crate::placeholder::is_placeholder;

/// A fault that prevents a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// File or folder with the fault; `None` for a rule that runs violate.
    pub file: Option<String>,
    /// Fault and remedy.
    pub text: String,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{file}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Formats a list of gaps: file by file, with their number at the end.
pub(crate) fn format_gaps(gaps: &[Gap]) -> String {
    let mut files: Vec<_> = Vec::new();
    for gap in gaps {
        if !files.contains(&&gap.file) {
            files.push(&gap.file);
        }
    }
    let mut list = String::new();
    for file in files {
        // Writing to a String cannot fail.
        let _ = writeln!(list, "  {}", file.as_deref().unwrap_or("rules, checked over the runs"));
        for gap in gaps.iter().filter(|gap| gap.file == *file) {
            let _ = writeln!(list, "    {}", gap.text.replace('\n', "\n    "));
        }
    }
    let things = if gaps.len() == 1 { "thing" } else { "things" };
    format!("{list}{} {things} to do", gaps.len())
}

/// Gaps found so far, in the order of their discovery. A gap is a fault that prevents a submission.
#[derive(Debug, Default)]
pub(super) struct Problems {
    settings: String,
    pub(super) gaps: Vec<Gap>,
}

impl Problems {
    /// Creates a list with a gap for each placeholder of `loadgen-node init` in the settings file
    /// `file`.
    pub(super) fn of(file: &str, todos: &[Todo]) -> Self {
        let mut problems = Self { settings: file.to_owned(), gaps: Vec::new() };
        todos.iter().for_each(|todo| problems.fault(todo.to_string()));
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_listed_file_by_file_with_their_number() {
        let gap =
            |file: Option<&str>, text: &str| Gap { file: file.map(Into::into), text: text.into() };
        let gaps = [
            gap(Some("s.toml"), "write submitter"),
            gap(Some("runs/a"), "no result.json"),
            gap(None, "N2: too few samples"),
            gap(Some("s.toml"), "write round"),
        ];
        let want = "  s.toml\n    write submitter\n    write round\n  runs/a\n    no result.json\n  \
                    rules, checked over the runs\n    N2: too few samples\n4 things to do";
        assert_eq!(format_gaps(&gaps), want);
        assert!(format_gaps(&gaps[..1]).ends_with("\n1 thing to do"));
    }
}
