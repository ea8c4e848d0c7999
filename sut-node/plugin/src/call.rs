//! The node's side of a call that may fail.

use std::ffi::CStr;

use crate::{
    abi::{self, Status, Text},
    error::PluginError,
};

/// Maximum length of an error text, in bytes. Texts of libtorch can contain whole tensors.
const MAX_ERROR_BYTES: usize = 4096;

/// Makes a call that may fail, with room for its error text.
pub(crate) fn call(function: impl FnOnce(Text) -> Status) -> Result<(), PluginError> {
    let mut room = vec![0_u8; MAX_ERROR_BYTES];
    let status = function(Text { at: room.as_mut_ptr().cast(), room: MAX_ERROR_BYTES as u64 });
    if status == abi::OK {
        return Ok(());
    }
    // The plug-in may have omitted the zero.
    room[MAX_ERROR_BYTES - 1] = 0;
    let text = CStr::from_bytes_until_nul(&room).map(CStr::to_string_lossy).unwrap_or_default();
    let text = match text.trim() {
        "" => format!("the plug-in states no reason (status {status})"),
        text => text.to_owned(),
    };
    Err(match status {
        abi::OUT_OF_MEMORY => PluginError::OutOfMemory(text),
        abi::DEVICE_LOST => PluginError::DeviceLost(text),
        abi::REFUSED => PluginError::Refused(text),
        _ => PluginError::Failed(text),
    })
}
