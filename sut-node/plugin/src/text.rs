//! Texts that end with a zero, in arrays of a fixed length.

use std::ffi::c_char;

/// Writes a text and a final zero to `room`. A text that is too long is truncated after a whole
/// character.
pub fn write(room: &mut [c_char], text: &str) {
    let Some(most) = room.len().checked_sub(1) else { return };
    let length = text.floor_char_boundary(most);
    for (place, byte) in room.iter_mut().zip(&text.as_bytes()[..length]) {
        *place = *byte as c_char;
    }
    room[length] = 0;
}

/// Reads a text up to its final zero, or to the end of the array if the zero is missing.
pub(crate) fn read(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().map(|c| *c as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_a_character_and_ends_with_zero() {
        for (text, want) in [("", ""), ("abc", "abc"), ("abcdef", "abcd"), ("abc\u{e9}", "abc")] {
            let mut room = [7; 5];
            write(&mut room, text);
            assert_eq!(read(&room), want);
        }
        write(&mut [], "abc");
    }

    #[test]
    fn a_text_without_a_zero_or_not_in_utf8_is_read_all_the_same() {
        assert_eq!(read(&[b'a' as c_char; 3]), "aaa");
        assert_eq!(read(&[b'a' as c_char, -1, b'b' as c_char, 0, b'c' as c_char]), "a\u{fffd}b");
    }
}
