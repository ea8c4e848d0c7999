//! Functions of the table in a plug-in in Rust: reports their errors and panics to the node.

use std::{
    ffi::c_char,
    panic::{AssertUnwindSafe, catch_unwind},
    slice,
};

use crate::{
    abi::{self, Status, Text},
    text,
};

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
        text::write(room, &why);
    }
    status
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::{PluginError, call::call};

    /// Returns the result that the node receives from a function of the table with the body `work`.
    fn heard(work: impl FnOnce() -> Result<(), (Status, String)>) -> Result<(), PluginError> {
        // SAFETY: the room is the node's.
        call(|error| unsafe { guarded(error, work) })
    }

    #[test]
    fn a_status_and_its_text_reach_the_node() {
        assert!(heard(|| Ok(())).is_ok());
        let full = heard(|| Err((abi::OUT_OF_MEMORY, "8 GiB".into()))).unwrap_err();
        assert!(matches!(full, PluginError::OutOfMemory(text) if text == "8 GiB"));
        let refused = heard(|| Err((abi::REFUSED, "no fp16".into()))).unwrap_err();
        assert!(matches!(refused, PluginError::Refused(text) if text == "no fp16"));
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
            assert_eq!(text::read(&room), "bro");
            assert_eq!(guarded(Text { at: room.as_mut_ptr(), room: 0 }, fails), abi::FAILED);
            assert_eq!(guarded(Text { at: ptr::null_mut(), room: 9 }, fails), abi::FAILED);
        }
        assert_eq!(text::read(&room), "bro");
    }
}
