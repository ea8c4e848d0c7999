//! Functions of the table in a plug-in in Rust: reports their errors and panics to the node. Texts
//! that end with a zero, in arrays of a fixed length.

use std::{
    ffi::c_char,
    panic::{AssertUnwindSafe, catch_unwind},
    slice,
};

use crate::abi::{self, Status, Text};

/// Runs `work`, the body of a function of the table. Returns its status, and writes the text of its
/// error to `error`. A panic becomes an error, too, because it must not leave the plug-in.
///
/// # Safety
///
/// `error.at` is null, or points at `error.room` bytes that can be written.
pub unsafe fn guarded(error: Text, work: impl FnOnce() -> Result<(), (Status, String)>) -> Status {
    let (status, why) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return abi::OK,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            (abi::FAILED, format!("panic: {}", text.unwrap_or("no text")))
        }
    };
    if !error.at.is_null() {
        let room = usize::try_from(error.room).unwrap_or(0);
        // SAFETY: as above.
        let room = unsafe { slice::from_raw_parts_mut(error.at.cast::<c_char>(), room) };
        write_text(room, &why);
    }
    status
}

/// Writes a text and a final zero to `room`. A text that is too long is truncated after a whole
/// character.
pub fn write_text(room: &mut [c_char], text: &str) {
    let Some(most) = room.len().checked_sub(1) else { return };
    let length = text.floor_char_boundary(most);
    for (place, byte) in room.iter_mut().zip(&text.as_bytes()[..length]) {
        *place = *byte as c_char;
    }
    room[length] = 0;
}

/// Reads a text up to its final zero, or to the end of the array if the zero is missing.
pub(crate) fn read_text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().map(|c| *c as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::{PluginError, table::call};

    /// Returns the result that the node receives from a function of the table with the body `work`.
    fn heard(work: impl FnOnce() -> Result<(), (Status, String)>) -> Result<(), PluginError> {
        // SAFETY: the room is the node's.
        call(|error| unsafe { guarded(error, work) })
    }

    #[test]
    fn a_panic_is_an_error() {
        let number = 7;
        let with_format = heard(|| panic!("slot {number}")).unwrap_err();
        assert_eq!(with_format.to_string(), "panic: slot 7");
        assert_eq!(heard(|| panic!("plain")).unwrap_err().to_string(), "panic: plain");
        let other = heard(|| std::panic::panic_any(7_u8)).unwrap_err();
        assert_eq!(other.to_string(), "panic: no text");
    }

    #[test]
    fn a_text_that_has_no_room_is_cut_or_left_out() {
        let mut room = [1; 4];
        let fails = || Err((abi::FAILED, "broken".into()));
        // SAFETY: the room has that many bytes, or is null.
        unsafe {
            assert_eq!(guarded(Text { at: room.as_mut_ptr(), room: 4 }, fails), abi::FAILED);
            assert_eq!(read_text(&room), "bro");
            assert_eq!(guarded(Text { at: room.as_mut_ptr(), room: 0 }, fails), abi::FAILED);
            assert_eq!(guarded(Text { at: ptr::null_mut(), room: 9 }, fails), abi::FAILED);
        }
        assert_eq!(read_text(&room), "bro");
    }

    #[test]
    fn a_text_is_cut_at_a_character_and_ends_with_zero() {
        for (text, want) in [("", ""), ("abc", "abc"), ("abcdef", "abcd"), ("abc\u{e9}", "abc")] {
            let mut room = [7; 5];
            write_text(&mut room, text);
            assert_eq!(read_text(&room), want);
        }
        write_text(&mut [], "abc");
    }

    #[test]
    fn a_text_without_a_zero_or_not_in_utf8_is_read_all_the_same() {
        assert_eq!(read_text(&[b'a' as c_char; 3]), "aaa");
        assert_eq!(
            read_text(&[b'a' as c_char, -1, b'b' as c_char, 0, b'c' as c_char]),
            "a\u{fffd}b"
        );
    }
}
