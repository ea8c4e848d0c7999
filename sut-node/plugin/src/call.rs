//! Calls and the texts of their errors.

use std::ffi::{CStr, c_char};

use crate::{
    PluginError,
    abi::{self, Status, Text},
};

/// Longest error text that is taken, in bytes: those of libtorch can hold whole tensors.
const MAX_ERROR_BYTES: usize = 4096;

/// Makes a call that may fail, with room for its error text.
pub(crate) fn call(function: impl FnOnce(Text) -> Status) -> Result<(), PluginError> {
    let mut room = vec![0_u8; MAX_ERROR_BYTES];
    let status = function(Text { at: room.as_mut_ptr().cast(), room: room.len() as u64 });
    if status == abi::OK {
        return Ok(());
    }
    // A plug-in that forgets the zero must not make us read on.
    room[MAX_ERROR_BYTES - 1] = 0;
    let text = CStr::from_bytes_until_nul(&room).map(CStr::to_string_lossy).unwrap_or_default();
    let text = match text.trim() {
        "" => format!("the plug-in gives no reason (status {status})"),
        text => text.to_owned(),
    };
    Err(match status {
        abi::OUT_OF_MEMORY => PluginError::OutOfMemory(text),
        abi::REFUSED => PluginError::Refused(text),
        _ => PluginError::Failed(text),
    })
}

/// The text in an array that should end with a zero.
pub(crate) fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().map(|c| *c as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
