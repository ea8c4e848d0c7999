//! What has to be mended in the settings and the files they name, collected until all of it is known.

use crate::placeholder::is_placeholder;

/// Faults, each with what to do about it.
#[derive(Debug, Default)]
pub(super) struct Problems {
    faults: Vec<String>,
}

impl Problems {
    /// Something must be mended; the text says what to do.
    pub(super) fn fault(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.faults.contains(&text) {
            self.faults.push(text);
        }
    }

    /// The text, or a fault that says what to write in place of nothing or a placeholder.
    pub(super) fn need<'a>(&mut self, value: &'a Option<String>, what: &str) -> &'a str {
        match value.as_deref().map(str::trim) {
            Some(text) if !is_placeholder(text) => text,
            None | Some("") => {
                self.fault(what);
                ""
            }
            Some(text) => {
                self.fault(format!("`{text}` says nothing: {what}"));
                ""
            }
        }
    }

    /// All of them.
    pub(super) fn faults(self) -> Vec<String> {
        self.faults
    }
}
