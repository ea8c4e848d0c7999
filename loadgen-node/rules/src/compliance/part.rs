//! One half of a test: the responses or the speed.

/// What was found in one part of a test.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// The figures, as `key = value` lines with the official scripts' keys.
    pub figures: Vec<String>,
    /// What the official script fails it for.
    pub problems: Vec<String>,
    /// What we fail it for although the official script does not.
    pub stricter: Vec<String>,
    /// What is worth knowing and fails nothing.
    pub notes: Vec<String>,
}

impl Part {
    /// Whether the official script passes it.
    pub fn officially(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether we pass it.
    pub fn passed(&self) -> bool {
        self.officially() && self.stricter.is_empty()
    }

    /// All that we fail it for.
    pub(crate) fn reasons(&self) -> String {
        [self.problems.as_slice(), &self.stricter].concat().join("; ")
    }

    /// The text of `verify_accuracy.txt` and `verify_performance.txt` of TEST01 and TEST04. The official checker looks
    /// for a line `TEST PASS`.
    pub(super) fn report(&self) -> String {
        let mut lines = [self.notes.as_slice(), &self.figures].concat();
        lines.extend(self.problems.iter().map(|problem| format!("TEST FAIL: {problem}")));
        lines.extend(self.stricter.iter().map(|why| format!("TEST FAIL: {why} {BEYOND}")));
        if self.passed() {
            lines.push("TEST PASS".into());
        }
        lines.join("\n") + "\n"
    }
}

/// Marks what only we ask for.
pub(super) const BEYOND: &str = "(not asked by the official script)";
