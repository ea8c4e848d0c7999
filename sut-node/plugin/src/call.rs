//! Calls of a plug-in's functions by the node, with their errors.

use std::ffi::CStr;

use crate::{
    abi::{self, Status, Text},
    error::PluginError,
};

/// Maximum length of an error text, in bytes. The error texts of libtorch can contain whole
/// tensors.
const MAX_ERROR_BYTES: usize = 4096;

/// Calls `function` with a buffer for its error text. Turns its status and text into a result.
pub(crate) fn call(function: impl FnOnce(Text) -> Status) -> Result<(), PluginError> {
    let mut room = vec![0_u8; MAX_ERROR_BYTES];
    let status = function(Text { at: room.as_mut_ptr().cast(), room: MAX_ERROR_BYTES as u64 });
    if status == abi::OK {
        return Ok(());
    }
    // The plug-in may have omitted the zero that ends the text.
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
