//! Text from users. Editors of other systems add a byte order mark, use other line ends, or write
//! UTF-16.

/// Decodes a text that a user wrote, and normalises harmless differences.
///
/// Removes a byte order mark, ends lines with LF, replaces no-break spaces by spaces, and decodes
/// UTF-16 with a mark.
///
/// # Errors
///
/// Fails if the bytes are not text. The error names line, character and remedy.
pub fn decode(bytes: Vec<u8>) -> Result<String, String> {
    let text = match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => of_utf16(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => of_utf16(rest, u16::from_be_bytes)?,
        _ => of_utf8(bytes)?,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let at = |offset: usize| place(&text[..offset]);
    if let Some(offset) = text.find('\0') {
        let place = at(offset);
        return Err(format!("{place}: a NUL, as in UTF-16: save the file as UTF-8"));
    }
    if let Some(offset) = text.find(['\u{feff}', '\u{200b}']) {
        let place = at(offset);
        return Err(format!("{place}: a zero-width character: remove it"));
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    Ok(text.replace(['\u{a0}', '\u{2007}', '\u{202f}'], " "))
}

/// Decodes UTF-8. The error names the position of the first invalid byte.
pub(crate) fn of_utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let bytes = error.into_bytes();
        let before = String::from_utf8_lossy(&bytes[..valid]);
        let byte = bytes.get(valid).copied().unwrap_or_default();
        format!("{}: byte 0x{byte:02x} is not text (UTF-8): save the file as UTF-8", place(&before))
    })
}

fn of_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::new();
    for decoded in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        match decoded {
            Ok(character) => text.push(character),
            Err(_) => {
                let place = place(&text);
                return Err(format!(
                    "{place}: an incomplete UTF-16 character: save the file as UTF-8"
                ));
            }
        }
    }
    match rest {
        [] => Ok(text),
        _ => {
            Err(format!("{}: an incomplete UTF-16 character: save the file as UTF-8", place(&text)))
        }
    }
}

/// Returns the position after a text by line and character, both from 1.
fn place(before: &str) -> String {
    let before = before.replace("\r\n", "\n").replace('\r', "\n");
    let line = before.matches('\n').count() + 1;
    let character = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line}, character {character}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    #[test]
    fn what_other_systems_add_is_taken_out() {
        let text = "a = 1\n# Zürich 𝄞\n";
        for written in [
            text.as_bytes().to_vec(),
            format!("\u{feff}{text}").into_bytes(),
            text.replace('\n', "\r\n").into_bytes(),
            text.replace('\n', "\r").into_bytes(),
            text.replace(' ', "\u{a0}").into_bytes(),
            text.replace(' ', "\u{202f}").into_bytes(),
            utf16(text, u16::to_le_bytes),
            utf16(&text.replace('\n', "\r\n"), u16::to_be_bytes),
        ] {
            assert_eq!(decode(written.clone()).as_deref(), Ok(text), "{written:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_named_by_line_and_character() {
        let without_mark = utf16("ab = 1\n", u16::to_le_bytes).split_off(2);
        let odd = [utf16("a\nb", u16::to_le_bytes), vec![0]].concat();
        let half = [utf16("a\nb", u16::to_be_bytes), vec![0xd8, 0]].concat();
        for (written, want) in [
            (without_mark, "line 1, character 2: a NUL"),
            (b"a = 1\r\nb = \xfc\n".to_vec(), "line 2, character 5: byte 0xfc is not text"),
            ("ü\r\u{200b}b".into(), "line 2, character 1: a zero-width character"),
            ("ab\u{feff}".into(), "line 1, character 3: a zero-width character"),
            (odd, "line 2, character 2: an incomplete UTF-16 character"),
            (half, "line 2, character 2: an incomplete UTF-16 character"),
        ] {
            let error = decode(written).unwrap_err();
            assert!(error.starts_with(want), "{want}: {error}");
        }
    }
}
