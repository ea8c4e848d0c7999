//! Documents in docs/generated/, which programs write as a whole.

use std::{fs, io, path::Path};

/// A document that a program writes.
#[derive(Debug, Clone, Copy)]
pub struct Generated {
    /// Heading of the document.
    pub title: &'static str,
    /// Command line that writes the document.
    pub command: &'static str,
}

impl Generated {
    /// Fails if `document` cannot be written, so that a program reports this before it measures for
    /// hours.
    pub fn check(self, document: &Path) -> io::Result<()> {
        fs::OpenOptions::new().append(true).create(true).open(document).map(drop)
    }

    /// Writes `text` below the title.
    pub fn write(self, document: &Path, text: &str) -> io::Result<()> {
        let Self { title, command } = self;
        fs::write(document, format!("# {title}\n\nWritten by `{command}`.\n\n{}\n", text.trim()))
    }
}
