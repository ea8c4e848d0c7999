//! JSON log lines: text of peers in them is escaped for the terminal, and each remains one object.

use crate::sanitise::is_unprintable;
use serde_json::Value;

/// Suffix of a text that was cut.
const CUT: &str = "… (cut)";

/// Maximum length of the escape for one byte of a text, in bytes.
const LONGEST_ESCAPE: usize = 6;

/// Returns a line of JSON with all unprintable characters escaped, in at most `most` bytes.
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
