//! Documents in docs/generated/, which programs write as a whole.

use std::{fs, io, path::Path};

use crate::generated::document as text_of;

/// Document that a program writes, by its heading.
#[derive(Debug, Clone, Copy)]
pub struct Generated(pub &'static str);

impl Generated {
    /// Fails if the folder of `document` does not exist, so that a program reports this before it
    /// measures for hours.
    pub fn check(self, document: &Path) -> io::Result<()> {
        document.parent().map_or(Ok(()), |folder| fs::read_dir(folder).map(drop))
    }

    /// Writes `text` below the heading and the `command` that wrote it.
    pub fn write(self, document: &Path, command: &str, text: &str) -> io::Result<()> {
        fs::write(document, text_of(self.0, command, text))
    }
}
