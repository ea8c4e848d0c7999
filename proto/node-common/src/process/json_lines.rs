//! Log lines that are JSON: what peers wrote in them does nothing to a terminal, and each stays one object.

use crate::said::is_unprintable;
use serde_json::Value;

/// What a text ends with that was cut.
const CUT: &str = "… (cut)";

/// Bytes that one byte of a text takes at most.
const LONGEST_ESCAPE: usize = 6;

/// A line of JSON as it is written: with everything escaped that is not shown, and at most so many bytes long.
pub(crate) fn shown(line: &str, most: usize) -> String {
    let text = escaped(line);
    if text.len() <= most { text } else { escaped(&cut(line, most)) }
}

fn escaped(line: &str) -> String {
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

/// The same object with its texts cut, each to its share of a line.
fn cut(line: &str, most: usize) -> String {
    let Ok(mut object) = serde_json::from_str::<Value>(line) else {
        // It is always one; a line that is not must not break what reads the others.
        return format!(
            "{}\n",
            serde_json::json!({ "level": "ERROR", "fields": { "message": "a line was no JSON" } })
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

    const LINE_BYTES: usize = 4096;

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
        let shown = shown(&line(&fields), LINE_BYTES);
        assert!(!shown.trim_end().contains(is_unprintable), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["fields"], fields);
    }

    #[test]
    fn a_long_line_is_cut_and_stays_an_object() {
        for text in ["ü", "\u{1b}", "\u{202e}", "\"", "a"] {
            let fields = json!({ "message": text.repeat(LINE_BYTES), "why": text.repeat(LINE_BYTES), "n": 5 });
            let shown = shown(&line(&fields), LINE_BYTES);
            assert!(shown.len() <= LINE_BYTES && shown.ends_with("}\n"), "{}", shown.len());
            let object: Value = serde_json::from_str(&shown).unwrap();
            assert_eq!((&object["level"], &object["fields"]["n"]), (&json!("WARN"), &json!(5)));
            for key in ["message", "why"] {
                let cut = object["fields"][key].as_str().unwrap();
                assert!(cut.starts_with(text) && cut.ends_with(CUT), "{cut}");
            }
        }
    }
}
