//! Text from peers for terminals, logs and messages. It is untrusted and may contain control
//! characters.

use std::borrow::Cow;

/// Maximum length of a text of a peer, in bytes.
pub const MAX_BYTES: usize = 2 << 10;

/// Returns true if a character controls a terminal or the surrounding text instead of being
/// printed.
pub fn is_unprintable(c: char) -> bool {
    // Covers control characters, and marks that change the direction of writing.
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the text with all unprintable characters escaped, except line ends and tabs.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_wrong = |c: char| is_unprintable(c) && c != '\n' && c != '\t';
    if text.contains(is_wrong) { escaped(text, is_wrong).into() } else { text.into() }
}

/// Returns a peer's text on one line, at most [`MAX_BYTES`] long.
pub fn sanitise(text: &str) -> String {
    sanitise_within(MAX_BYTES, text)
}

/// Like [`sanitise`], with another maximum length, for a part of a message.
pub fn sanitise_within(max_bytes: usize, text: &str) -> String {
    let cut = &text[..text.floor_char_boundary(max_bytes)];
    let mut said = escaped(cut, is_unprintable);
    if cut.len() < text.len() || said.len() > max_bytes {
        said.truncate(said.floor_char_boundary(max_bytes - ELLIPSIS.len_utf8()));
        said.push(ELLIPSIS);
    }
    said
}

/// Mark at the end of a text that was cut.
const ELLIPSIS: char = '…';

/// Returns true if a text is one line of printable characters.
pub fn is_plain(text: &str) -> bool {
    !text.contains(is_unprintable)
}

/// Quotes a text as one word of a shell command.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:@/,".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn escaped(text: &str, is_wrong: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_wrong(c) { escaped.extend(c.escape_default()) } else { escaped.push(c) }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stays_one_word_of_the_shell() {
        for (text, want) in [
            ("eth0.100", "eth0.100"),
            ("out/a_b", "out/a_b"),
            ("a,b", "a,b"),
            ("[::1],b", "'[::1],b'"),
            ("a;reboot", "'a;reboot'"),
            ("$(id)", "'$(id)'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("-a", "'-a'"),
        ] {
            assert_eq!(shell_word(text), want);
        }
    }

    #[test]
    fn what_is_not_shown_is_escaped() {
        let text = "red \u{1b}[31m, up \u{9b}1A, back \u{8}, \u{202e}txt.exe";
        assert_eq!(printable(text), "red \\u{1b}[31m, up \\u{9b}1A, back \\u{8}, \\u{202e}txt.exe");
        assert_eq!(sanitise("one\nERROR two\r\t"), "one\\nERROR two\\r\\t");
        for text in ["a\tb\nc", "Grüße, 模型"] {
            assert_eq!(printable(text), text);
        }
        assert!(is_plain("Grüße") && !is_plain("a\nb"));
    }

    #[test]
    fn what_is_said_is_short() {
        for text in ["ü".repeat(MAX_BYTES), "\u{1b}".repeat(MAX_BYTES)] {
            let said = sanitise(&text);
            assert!(said.len() <= MAX_BYTES && said.ends_with('…'), "{}", said.len());
        }
        let longest = "x".repeat(MAX_BYTES);
        assert_eq!(sanitise(&longest), longest);
    }
}
