//! Tables that a program measures and a document shows: they stand between two marks.

use std::{error::Error, fs, path::Path};

/// The marks before and behind a table.
#[derive(Debug, Clone, Copy)]
pub struct Marks(pub &'static str, pub &'static str);

impl Marks {
    /// Checks, before hours of measuring, that the document has them.
    pub fn check(self, document: &Path) -> Result<(), Box<dyn Error>> {
        self.split(&fs::read_to_string(document)?).map(drop)
    }

    /// Puts a text between them.
    pub fn fill(self, document: &Path, text: &str) -> Result<(), Box<dyn Error>> {
        let old = fs::read_to_string(document)?;
        let (before, after) = self.split(&old)?;
        let Self(begin, end) = self;
        Ok(fs::write(document, format!("{before}{begin}\n\n{text}\n{end}{after}"))?)
    }

    fn split(self, document: &str) -> Result<(&str, &str), Box<dyn Error>> {
        let Self(begin, end) = self;
        let none = |mark| format!("the document has no {mark}; put it where the table is to stand");
        let (before, rest) = document.split_once(begin).ok_or_else(|| none(begin))?;
        let (_, after) = rest.split_once(end).ok_or_else(|| none(end))?;
        Ok((before, after))
    }
}
