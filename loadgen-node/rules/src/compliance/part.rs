//! Result of one half of a test: the responses or the speed.

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
