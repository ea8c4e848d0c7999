//! Parts of a report, for the terminal or for a page.

use std::fmt;

use super::table::TextTable;

/// Part of a report.
#[derive(Debug)]
pub(crate) enum Part {
    Text(String),
    Table(TextTable),
    /// Judgement on the network, or on the measurement.
    Finding {
        is_good: bool,
        text: String,
    },
}

impl Part {
    pub(super) fn bad(text: String) -> Self {
        Self::Finding { is_good: false, text }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Finding { text, .. } => f.write_str(text),
            Self::Table(table) => table.fmt(f),
        }
    }
}
