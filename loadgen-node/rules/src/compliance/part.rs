//! Result of one half of a test, the responses or the speed, and the error if a test cannot be
//! verified.

use std::path::Path;

use crate::{
    book::Test,
    facts::official_log::{LogError, Summary},
    tree::{VERIFY_ACCURACY, VERIFY_OUTPUT_LENGTH},
};

/// Findings about one part of a test: the responses or the speed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// Figures, as `key = value` lines with the official scripts' keys.
    pub figures: Vec<String>,
    /// Reasons for which the official script fails the run.
    pub problems: Vec<String>,
    /// Reasons for which netdiv fails the run although the official script does not.
    pub stricter: Vec<String>,
    /// Remarks that do not fail the run.
    pub notes: Vec<String>,
}

impl Part {
    /// Returns true if the official script passes the run.
    pub fn passes_script(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns true if netdiv passes the run.
    pub fn passed(&self) -> bool {
        self.passes_script() && self.stricter.is_empty()
    }

    pub(crate) fn reasons(&self) -> String {
        [self.problems.as_slice(), &self.stricter].concat().join("; ")
    }

    /// Returns the text of `verify_accuracy.txt` and `verify_performance.txt` for TEST01 and
    /// TEST04. The official checker searches for a line `TEST PASS`.
    pub(super) fn report(&self) -> String {
        let mut lines = [self.notes.as_slice(), &self.figures].concat();
        lines.extend(self.problems.iter().map(|problem| format!("TEST FAIL: {problem}")));
        lines.extend(self.stricter.iter().map(|why| format!("TEST FAIL: {why} {STRICTER_SUFFIX}")));
        if self.passed() {
            lines.push("TEST PASS".into());
        }
        lines.join("\n") + "\n"
    }
}

/// Suffix of a reason that only netdiv has.
pub(super) const STRICTER_SUFFIX: &str = "(not required by the official script)";

/// Returns the name of the file with the verdict of a test on the responses; `None` if it examines
/// none.
pub const fn responses_file(test: Test) -> Option<&'static str> {
    match test {
        Test::Test01 | Test::Test06 | Test::Test07 => Some(VERIFY_ACCURACY),
        Test::Test04 => None,
        Test::Test09 => Some(VERIFY_OUTPUT_LENGTH),
    }
}

/// Error with all problems that prevent the verification of a compliance test.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct ComplianceError(pub(super) Vec<String>);

impl ComplianceError {
    pub(crate) fn new(path: &Path, why: impl std::fmt::Display) -> Self {
        Self(vec![format!("{}: {why}", path.display())])
    }

    /// Returns the individual problems.
    pub fn problems(&self) -> &[String] {
        &self.0
    }
}

impl From<LogError> for ComplianceError {
    fn from(error: LogError) -> Self {
        Self(vec![error.to_string()])
    }
}

/// Reads a summary. Fails if the official scripts cannot read it.
pub(super) fn read_summary(path: &Path) -> Result<Summary, ComplianceError> {
    let summary = Summary::read(path).map_err(|error| ComplianceError::new(path, error))?;
    match summary.malformed {
        None => Ok(summary),
        Some(why) => Err(ComplianceError::new(path, why)),
    }
}

/// Returns both values. If a value is missing, returns an error with the problems of both results.
pub(super) fn both<A, B>(
    one: Result<A, ComplianceError>,
    other: Result<B, ComplianceError>,
) -> Result<(A, B), ComplianceError> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(one), Err(other)) => Err(ComplianceError([one.0, other.0].concat())),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}
