//! Faults that prevent a submission, and a list of them.

use std::fmt::{self, Write as _};

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
