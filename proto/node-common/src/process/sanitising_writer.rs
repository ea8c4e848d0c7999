//! Writer of log lines to standard error. It escapes text of peers, so that it cannot control the
//! terminal, and writes the paths of pages. A line of JSON remains one object.

use std::io::{self, Write};

use serde_json::Value;

use crate::{
    process::documents::with_page_paths,
    sanitise::{is_unprintable, printable},
};

/// Maximum length of a line, in bytes. Text of peers is cut earlier; this limits all other text.
const LINE_BYTES: usize = 16 << 10;

/// Suffix of a line or a text that was cut. The cut may be inside a colour.
const CUT: &str = "… (cut)";
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
        let whole = with_page_paths(&whole);
        if self.form == Form::Json {
            self.to.write_all(shown_json(&whole, LINE_BYTES).as_bytes())?;
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
            shown.push('\n');
        }
        self.to.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Maximum length of the escape for one byte of a text, in bytes.
const LONGEST_ESCAPE: usize = 6;

/// Returns a line of JSON with all unprintable characters escaped, in at most `most` bytes.
fn shown_json(line: &str, most: usize) -> String {
    let text = escaped_json(line);
    if text.len() <= most { text } else { escaped_json(&cut(line, most)) }
}

fn escaped_json(line: &str) -> String {
    let mut escaped = String::with_capacity(line.len());
    for c in line.chars() {
        if c != '\n' && is_unprintable(c) {
            c.encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| escaped += &format!("\\u{unit:04x}"));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Cuts each text in the `fields` of a log object to an equal share of a line of `most` bytes.
fn cut(line: &str, most: usize) -> String {
    let Ok(mut object) = serde_json::from_str::<Value>(line) else {
        // The line is always an object. If it were not, it must not break readers of the other
        // lines.
        return format!(
            "{}\n",
            serde_json::json!({ "level": "ERROR", "fields": { "message": "a log line was not valid JSON" } })
        );
    };
    if let Some(fields) = object.get_mut("fields").and_then(Value::as_object_mut) {
        let share = most / (LONGEST_ESCAPE * (fields.len() + 1));
        for value in fields.values_mut() {
            if let Value::String(text) = value
                && text.len() > share
            {
                text.truncate(text.floor_char_boundary(share.saturating_sub(CUT.len())));
                text.push_str(CUT);
            }
        }
    }
    format!("{object}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    /// Maximum length of the lines of JSON, in bytes.
    const JSON_BYTES: usize = 4096;

    fn line(fields: &Value) -> String {
        format!(
            "{}\n",
            json!({ "timestamp": "t", "level": "WARN", "fields": fields, "target": "a" })
        )
    }

    #[test]
    fn what_is_not_shown_is_escaped_and_reads_as_it_was() {
        let fields =
            json!({ "message": "red \u{1b}[31m\u{9b}1A \u{7f}\u{202e}txt.exe\n\"end\"\\" });
        let shown = shown_json(&line(&fields), JSON_BYTES);
        assert!(!shown.trim_end().contains(is_unprintable), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["fields"], fields);
    }

    #[test]
    fn a_long_line_is_cut_and_stays_an_object() {
        for text in ["ü", "\u{1b}", "\u{202e}", "\"", "a"] {
            let fields = json!({ "message": text.repeat(JSON_BYTES), "why": text.repeat(JSON_BYTES), "n": 5 });
            let shown = shown_json(&line(&fields), JSON_BYTES);
            assert!(shown.len() <= JSON_BYTES && shown.ends_with("}\n"), "{}", shown.len());
            let object: Value = serde_json::from_str(&shown).unwrap();
            assert_eq!((&object["level"], &object["fields"]["n"]), (&json!("WARN"), &json!(5)));
            for key in ["message", "why"] {
                let cut = object["fields"][key].as_str().unwrap();
                assert!(cut.starts_with(text) && cut.ends_with(CUT), "{cut}");
            }
        }
    }
}
