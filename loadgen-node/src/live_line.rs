//! Line below the log that shows the progress of a command on a terminal.

use std::{
    env,
    io::{self, IsTerminal as _},
};

use netdiv_node_common::process::{LogFormat, show_below_log};

/// Line below the log. Without a terminal that can draw it, nothing is shown. Dropping it clears it.
pub(crate) struct LiveLine {
    is_drawn: bool,
}

impl LiveLine {
    /// Returns an empty line. A quiet command shows nothing.
    pub(crate) fn new(is_quiet: bool) -> Self {
        Self { is_drawn: !is_quiet && is_terminal() }
    }

    /// Returns true if the line is shown, so that log lines need not repeat it.
    pub(crate) const fn is_drawn(&self) -> bool {
        self.is_drawn
    }

    /// Replaces the line. What does not fit the width of the terminal is cut.
    pub(crate) fn show(&self, text: &str) {
        if self.is_drawn {
            show_below_log(text);
        }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.show("");
    }
}

/// Returns true if standard error is a terminal that can place text, and the log has sentences.
pub(crate) fn is_terminal() -> bool {
    io::stderr().is_terminal()
        && can_place_text(env::var("TERM").ok().as_deref())
        && LogFormat::asked() != Ok(LogFormat::Json)
}

fn can_place_text(term: Option<&str>) -> bool {
    term.is_some_and(|term| !term.is_empty() && term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_to_be_able_to_draw() {
        for (term, can) in
            [(Some("xterm"), true), (None, false), (Some(""), false), (Some("dumb"), false)]
        {
            assert_eq!(can_place_text(term), can, "{term:?}");
        }
    }
}
