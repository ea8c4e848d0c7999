//! Writer of log lines to standard error. It escapes text of peers, so that it cannot control the
//! terminal.

use std::io::{self, Write};

use crate::{process::json_lines, sanitise::printable};

/// Maximum length of a line, in bytes. Text of peers is cut earlier; this limits all other text.
const LINE_BYTES: usize = 16 << 10;

/// Suffix of a line that was cut. The cut may be inside a colour.
const CUT: &str = "… (cut)\n";
const NO_COLOUR: &str = "\u{1b}[0m";

/// Format of the log lines that the writer receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Coloured,
    /// A JSON object on each line.
    Json,
}

/// Writer that limits the length of lines, and escapes unprintable characters, except colours if
/// they are wanted.
pub(crate) struct SanitisingWriter<W> {
    pub(crate) to: W,
    pub(crate) form: Form,
}

/// Beginning of a colour, up to its number.
const COLOUR: &str = "\u{1b}[";

impl<W: Write> Write for SanitisingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let whole = String::from_utf8_lossy(bytes);
        if self.form == Form::Json {
            self.to.write_all(json_lines::shown(&whole, LINE_BYTES).as_bytes())?;
            return Ok(bytes.len());
        }
        let colours = self.form == Form::Coloured;
        let text = &whole[..whole.floor_char_boundary(LINE_BYTES)];
        let mut shown = if colours {
            let mut pieces = text.split(COLOUR);
            let mut shown = pieces.next().map(printable).unwrap_or_default().into_owned();
            for piece in pieces {
                let end = piece.find(|c: char| c != ';' && !c.is_ascii_digit());
                let is_colour = end.is_some_and(|end| piece[end..].starts_with('m'));
                shown.push_str(if is_colour { COLOUR } else { "\\u{1b}[" });
                shown.push_str(&printable(piece));
            }
            shown
        } else {
            printable(text).into_owned()
        };
        if text.len() < whole.len() || shown.len() > LINE_BYTES {
            shown.truncate(shown.floor_char_boundary(LINE_BYTES));
            shown.push_str(if colours { NO_COLOUR } else { "" });
            shown.push_str(CUT);
        }
        self.to.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_it_is_too_long() {
        for (line, form, end) in [
            ("ü".repeat(LINE_BYTES), Form::Plain, "ü… (cut)\n"),
            ("\u{8}".repeat(LINE_BYTES), Form::Plain, "… (cut)\n"),
            ("\u{1b}[32m".repeat(LINE_BYTES), Form::Coloured, "\u{1b}[0m… (cut)\n"),
        ] {
            let mut to = Vec::new();
            let written = SanitisingWriter { to: &mut to, form }.write(line.as_bytes()).unwrap();
            let shown = String::from_utf8(to).unwrap();
            assert_eq!(written, line.len());
            assert!(shown.len() < LINE_BYTES + 20 && shown.ends_with(end), "{}", shown.len());
        }
    }

    #[test]
    fn only_our_colours_reach_the_terminal() {
        let line = "\u{1b}[32m INFO\u{1b}[0m it says \u{1b}[2J\u{1b}]0;title\u{7}\n";
        let shown = |form| {
            let mut to = Vec::new();
            let written = SanitisingWriter { to: &mut to, form }.write(line.as_bytes()).unwrap();
            assert_eq!(written, line.len());
            String::from_utf8(to).unwrap()
        };
        let rest = "it says \\u{1b}[2J\\u{1b}]0;title\\u{7}\n";
        assert_eq!(shown(Form::Coloured), format!("\u{1b}[32m INFO\u{1b}[0m {rest}"));
        assert_eq!(shown(Form::Plain), format!("\\u{{1b}}[32m INFO\\u{{1b}}[0m {rest}"));
    }
}
