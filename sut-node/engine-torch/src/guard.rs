//! What stands around every function of the table.

use netdiv_plugin::abi::{Status, Text};

use crate::failure::Failure;

/// Runs a function of the table: an error or a panic becomes a status and a text.
pub(crate) fn guarded(error: Text, work: impl FnOnce() -> Result<(), Failure>) -> Status {
    let work = || work().map_err(|failure| (failure.status, failure.text));
    // SAFETY: the caller gives room for the text, as the ABI says.
    unsafe { netdiv_plugin::guarded(error, work) }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use netdiv_plugin::abi;

    use super::*;

    #[test]
    fn a_failure_has_its_status_and_text() {
        let mut room = [0; 8];
        let error = Text { at: room.as_mut_ptr(), room: 8 };
        let status = guarded(error, || Err(Failure::refused("no such model".into())));
        assert_eq!(status, abi::REFUSED);
        // SAFETY: `guarded` ends the text with a zero.
        assert_eq!(unsafe { CStr::from_ptr(room.as_ptr()) }, c"no such");
    }
}
