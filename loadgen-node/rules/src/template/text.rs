//! TOML with comments before its keys.

use std::fmt::Write as _;

/// The longest line of a comment, in letters.
const WIDTH: usize = 110;

/// A file under way.
#[derive(Debug, Default)]
pub(super) struct Text(String);

impl Text {
    /// A comment, on as many lines as it needs.
    pub(super) fn comment(&mut self, text: &str) -> &mut Self {
        let mut line = String::from("#");
        for word in text.split_whitespace() {
            if line.len() + 1 + word.len() > WIDTH {
                self.line(&line);
                line = "#".into();
            }
            line = format!("{line} {word}");
        }
        self.line(&line)
    }

    /// A line as it is.
    pub(super) fn line(&mut self, line: &str) -> &mut Self {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{line}");
        self
    }

    /// A key that is set, and what it is.
    pub(super) fn key(
        &mut self,
        key: &str,
        value: impl Into<toml::Value>,
        comment: &str,
    ) -> &mut Self {
        self.comment(comment).set(key, value)
    }

    /// A key that is set, under a comment that it shares with others.
    pub(super) fn set(&mut self, key: &str, value: impl Into<toml::Value>) -> &mut Self {
        self.line(&format!("{key} = {}", value.into()))
    }

    /// A key that may be set: without its `#` the line sets it.
    pub(super) fn maybe(
        &mut self,
        key: &str,
        value: impl Into<toml::Value>,
        comment: &str,
    ) -> &mut Self {
        self.comment(comment).suggest(key, value)
    }

    /// A key that may be set, under a comment that it shares with others.
    pub(super) fn suggest(&mut self, key: &str, value: impl Into<toml::Value>) -> &mut Self {
        self.line(&format!("#{key} = {}", value.into()))
    }

    /// All of it.
    pub(super) fn finish(self) -> String {
        self.0
    }
}
