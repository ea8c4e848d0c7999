//! What has to be mended in the settings and the files they name, collected until all of it is known.

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

    /// The text, or a fault that says what to write.
    pub(super) fn need<'a>(&mut self, value: &'a Option<String>, what: &str) -> &'a str {
        match value.as_deref().map(str::trim) {
            Some(text) if !text.is_empty() => text,
            _ => {
                self.fault(what);
                ""
            }
        }
    }

    /// All of them.
    pub(super) fn faults(self) -> Vec<String> {
        self.faults
    }
}
