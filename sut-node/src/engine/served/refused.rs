//! Why a request has no answer.

use std::time::Duration;

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Refused {
    /// The server has too much to do.
    Busy {
        /// How long it wants to be left alone.
        pause: Duration,
        /// What it says.
        why: String,
    },
    /// The prompt is to blame.
    BadSample(String),
    /// Anything else.
    Failed(String),
}

/// Time until a request is tried again, where the server names none.
pub(super) const PAUSE: Duration = Duration::from_millis(500);

/// Longest text of a server's that is passed on.
const MOST_CHARS: usize = 300;

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// Whether a refusal of a request as malformed blames the prompt, and not what else was asked for.
pub(super) fn blames_prompt(text: &str) -> bool {
    let text = text.to_lowercase();
    ["prompt", "input", "exceed_context"].iter().any(|word| text.contains(word))
}

/// The beginning of a server's text, in one line.
pub(super) fn short(text: &str) -> String {
    let line: Vec<_> = text.split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_lines_joined() {
        assert_eq!(short("<html>\n no"), "<html> no");
        assert!(short(&"é".repeat(1000)).chars().count() < 400);
    }
}
